/* Connections: who makes them, and who is let in. */

static void without_delay(int fd)
{
    int yes = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* Connect within PATIENCE; -1, and errno, where that cannot be. The socket blocks. */
static int connected(const struct addrinfo *place)
{
    int fd = socket(place->ai_family, place->ai_socktype | SOCK_CLOEXEC, place->ai_protocol);
    int error = 0;
    socklen_t size = sizeof error;

    if (fd < 0)
        return -1;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (connect(fd, place->ai_addr, place->ai_addrlen) != 0) {
        struct pollfd wanted = {.fd = fd, .events = POLLOUT};
        error = errno;
        if (error == EINPROGRESS) {
            error = ETIMEDOUT;
            if (poll(&wanted, 1, (int)(PATIENCE / 1000000)) > 0)
                getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        }
    }
    if (error) {
        close(fd);
        errno = error;
        return -1;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

/* A connection to the server that has shown its token. */
static int connection_to(const char *address, const char *port, const char *token, char kind)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *places;
    char shown[TOKEN + 2];
    int fd = -1, wrong = getaddrinfo(address, port, &hints, &places);

    if (wrong)
        fail("cannot connect: %s", gai_strerror(wrong));
    for (struct addrinfo *place = places; place && fd < 0; place = place->ai_next)
        fd = connected(place);
    if (fd < 0)
        fail("cannot connect: %s", strerror(errno));
    freeaddrinfo(places);
    without_delay(fd);
    snprintf(shown, sizeof shown, "%s%c", token, kind);
    if (!send_all(fd, shown, TOKEN + 1))
        fail("cannot connect: %s", strerror(errno));
    return fd;
}

/* A socket that listens at an address; -1, and errno. A name counts for nothing: here it may stand
 * for another address than at the client (Debian's 127.0.1.1). */
static int bound(const char *address, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST}, *place;
    int yes = 1, all = strcmp(address, "::") == 0, only = !all;

    if (getaddrinfo(address, port, &hints, &place)) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, place->ai_protocol);
    if (fd >= 0) {
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (place->ai_family == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
        if (bind(fd, place->ai_addr, place->ai_addrlen) || listen(fd, CONNECTIONS)) {
            int error = errno;
            close(fd);
            errno = error;
            fd = -1;
        }
    }
    freeaddrinfo(place);
    return fd;
}

/* At the address where that is one of this machine's, else at all of its addresses: the target may
 * be reached by a translated one, and the token keeps others out. */
static int listening(const char *address, const char *port)
{
    int fd = bound(*address ? address : "::", port);

    if (fd < 0 && errno == EADDRINUSE)
        return -1;
    if (fd < 0)
        fd = bound("::", port);
    return fd < 0 ? bound("0.0.0.0", port) : fd;
}

static int port_of(int fd)
{
    struct sockaddr_storage place;
    socklen_t size = sizeof place;

    if (getsockname(fd, (struct sockaddr *)&place, &size))
        return 0;
    return ntohs(place.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&place)->sin6_port
                                             : ((struct sockaddr_in *)&place)->sin_port);
}

struct stranger {
    int fd;
    int64_t since;
    size_t had;
    char shown[TOKEN + 1];
};

/* The listening socket: lets in who knows the token. */
struct door {
    int fd;
    const char *token;
    int waiting, refused;
    struct stranger strangers[WAITING];
};

static void dismiss(struct door *door, int at, bool refused)
{
    if (refused) {
        close(door->strangers[at].fd);
        door->refused++;
    }
    door->strangers[at] = door->strangers[--door->waiting];
}

/* Somebody connects. */
static void receive_stranger(struct door *door)
{
    int fd = accept(door->fd, NULL, NULL);

    if (fd < 0)
        return;
    if (door->waiting == WAITING) {
        door->refused++;
        close(fd);
        return;
    }
    door->strangers[door->waiting++] = (struct stranger){.fd = fd, .since = now()};
}

/* Takes as long whatever differs. */
static bool knows_token(const struct door *door, const struct stranger *stranger, char kind)
{
    int differs = stranger->shown[TOKEN] ^ kind;

    for (int at = 0; at < TOKEN; at++)
        differs |= stranger->shown[at] ^ door->token[at];
    return differs == 0;
}

/* Read on in what a stranger shows; the connection when it is right, else -1. */
static int read_token(struct door *door, int at, char kind)
{
    struct stranger *stranger = door->strangers + at;
    ssize_t got = recv(stranger->fd, stranger->shown + stranger->had,
                       sizeof stranger->shown - stranger->had, MSG_DONTWAIT);
    int fd = stranger->fd;

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return -1;
    if (got > 0)
        stranger->had += (size_t)got;
    if (got > 0 && stranger->had < sizeof stranger->shown)
        return -1;
    bool right = got > 0 && knows_token(door, stranger, kind);
    dismiss(door, at, !right);
    if (!right)
        return -1;
    without_delay(fd);
    return fd;
}

/* The next connection of a kind. ``control``: ends it when the client goes away, unless -1. */
static int admit(struct door *door, char kind, int64_t deadline, int control)
{
    struct pollfd wanted[WAITING + 2];

    for (;;) {
        int waiting = door->waiting, guest = -1;

        if (now() > deadline)
            fail("the client did not come, or not with all its connections");
        wanted[0] = (struct pollfd){.fd = door->fd, .events = POLLIN};
        wanted[1] = (struct pollfd){.fd = control, .events = POLLIN};
        for (int at = 0; at < waiting; at++)
            wanted[at + 2] = (struct pollfd){.fd = door->strangers[at].fd, .events = POLLIN};
        if (poll(wanted, (nfds_t)waiting + 2, SLICE) > 0) {
            if (wanted[1].revents)
                fail("the client went away");
            /* from the end: who is dismissed is replaced by one that was looked at */
            for (int at = waiting - 1; at >= 0 && guest < 0; at--)
                if (wanted[at + 2].revents)
                    guest = read_token(door, at, kind);
            if (guest >= 0)
                return guest;
            if (wanted[0].revents)
                receive_stranger(door);
        }
        for (int at = door->waiting - 1; at >= 0; at--)
            if (now() - door->strangers[at].since > PATIENCE)
                dismiss(door, at, true);
    }
}

static void shut(struct door *door)
{
    while (door->waiting)
        close(door->strangers[--door->waiting].fd);
    close(door->fd);
}
