/* A connection for each request: it is made, shows its token, asks, is answered, and is closed by the
 * server first, so that ports are held back (TIME_WAIT) there, where one serves for all of them. */

static const char *shown;                    /* what begins a connection: the token and its kind */
static struct addrinfo callee;               /* of the client: where the control connection leads */
static struct sockaddr_storage callee_place;
static int lobby;                            /* of the server: the listening socket */
static atomic_int strangers;                 /* of the server: who did not know the token */

/* Both ends know by what a connection begins. */
static void remember_token(const char *token)
{
    static char text[TOKEN + 2];

    snprintf(text, sizeof text, "%s%c", token, DATA);
    shown = text;
}

/* Calls go where the control connection went: a name is looked up once. */
static void prepare_calls(int control, const char *token)
{
    socklen_t size = sizeof callee_place;

    if (getpeername(control, (struct sockaddr *)&callee_place, &size))
        fail("the other end went away");
    callee = (struct addrinfo){.ai_family = callee_place.ss_family, .ai_socktype = SOCK_STREAM,
                               .ai_addr = (struct sockaddr *)&callee_place, .ai_addrlen = size};
    remember_token(token);
}

/* Who was on the way in is sent off; each thread lets callers in from now on. What is set here, those
 * that come have too (Linux); nobody holds up a thread for longer than PATIENCE. */
static void prepare_lobby(struct door *door)
{
    struct timeval patience = {.tv_sec = PATIENCE / SECOND};

    while (door->waiting)
        dismiss(door, 0, true);
    without_delay(door->fd);
    setsockopt(door->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    fcntl(door->fd, F_SETFL, fcntl(door->fd, F_GETFL) & ~O_NONBLOCK);
    lobby = door->fd;
    remember_token(door->token);
}

/* True where the other end closes, and sends nothing more. */
static bool is_closed(int fd)
{
    char byte;
    ssize_t got;

    do
        got = recv(fd, &byte, 1, 0);
    while (got < 0 && errno == EINTR);
    return got == 0;
}

/* One request over a connection of its own. Fails where that cannot be made: for want of a port, say,
 * or of patience. */
static void one_call(const struct task *task, char *buffer)
{
    int fd = connected(&callee);

    if (fd < 0)
        fail("cannot connect: %s", strerror(errno));
    without_delay(fd);
    if (send(fd, shown, TOKEN + 1, MSG_NOSIGNAL | MSG_MORE) != TOKEN + 1 ||
        !send_message(fd, task->size) || !receive_message(NULL, fd, buffer, task->answer) ||
        !is_closed(fd))
        fail("a connection was lost");
    close(fd);
}

/* The client's end. */
static void *call(void *argument)
{
    struct worker *worker = argument;
    const struct task *task = worker->task;
    char *buffer = prepared(worker, task->answer);

    for (int64_t since = now();;) {
        one_call(task, buffer);
        int64_t at = now();
        answered(worker, at, since);
        since = at;
    }
    return NULL;
}

/* True for who shows the token; takes as long whatever differs. */
static bool knows(int fd)
{
    char had[TOKEN + 1];
    size_t length = 0;
    int differs = 0;

    while (length < sizeof had) {
        ssize_t got = recv(fd, had + length, sizeof had - length, 0);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0)
            length += (size_t)got;
    }
    for (size_t at = 0; at < sizeof had; at++)
        differs |= had[at] ^ shown[at];
    return differs == 0;
}

/* The server's end: one caller after the other, whoever of the threads is free. */
static void *take_calls(void *argument)
{
    struct worker *worker = argument;
    const struct task *task = worker->task;
    char *buffer = prepared(worker, task->size);

    for (;;) {
        int fd = accept(lobby, NULL, NULL);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == EBADF || errno == EINVAL))
            fail("no more connections can be taken: %s", strerror(errno));
        if (fd < 0)
            continue; /* it went away meanwhile, or nobody came */
        if (!knows(fd))
            atomic_fetch_add_explicit(&strangers, 1, memory_order_relaxed);
        else if (receive_message(NULL, fd, buffer, task->size)) {
            answered(worker, now(), INT64_MAX);
            send_message(fd, task->answer);
        }
        close(fd);
    }
    return NULL;
}
