/* The server's end: serves one client, once, and is gone. */

/* Write the port and the token, so that whoever sees the file sees all of it. 0: there is none. */
static void tell_port(const char *path, int port, const char *token)
{
    char fresh[PATH_MAX], text[TOKEN + 16];
    int length = snprintf(text, sizeof text, "%d %s\n", port, token);

    if ((size_t)snprintf(fresh, sizeof fresh, "%s.new", path) >= sizeof fresh)
        fail("the name of a file is too long");
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)length) != length || close(fd) || rename(fresh, path))
        fail("the port cannot be told: %s", strerror(errno));
}

static int open_door(const struct options *options, const char *token)
{
    int fd = listening(options->listen, options->port);

    if (fd < 0) {
        int error = errno;
        tell_port(options->port_file, 0, "");
        if (error == EADDRINUSE)
            fail("port %s is in use", options->port);
        fail("cannot listen: %s", strerror(error));
    }
    tell_port(options->port_file, port_of(fd), token);
    port_file = options->port_file;
    return fd;
}

/* Until the window of every thread is over, or the client is gone. */
static void await_windows(int control, const struct task *task)
{
    int64_t deadline = now() + task->warmup + task->window + PATIENCE, own = 0;

    while (own < task->connections) {
        struct pollfd wanted[] = {{.fd = control, .events = POLLIN},
                                  {.fd = reported[0], .events = POLLIN}};
        char bytes[CONNECTIONS];
        if (poll(wanted, 2, SLICE) > 0) {
            if (wanted[0].revents) /* it has nothing to say now */
                fail("the other end went away");
            if (wanted[1].revents)
                own += read(reported[0], bytes, sizeof bytes);
        } else if (now() > deadline) {
            fail("the other end did not answer in time");
        }
    }
}

static void send_report(struct control *control, const struct worker *workers,
                        const struct task *task)
{
    int64_t side[COUNTED];
    char line[COUNTED * 20];

    pthread_mutex_lock(&results);
    for (int at = 0; at < task->connections; at++) {
        side_of(workers + at, side);
        snprintf(line, sizeof line, "%lld %lld %lld %lld %lld %lld %lld\n", (long long)side[0],
                 (long long)side[1], (long long)side[2], (long long)side[3], (long long)side[4],
                 (long long)side[5], (long long)side[6]);
        say(control, line);
    }
    pthread_mutex_unlock(&results);
}

static int print_workers(const struct worker *workers, const struct task *task, int refused)
{
    while (atomic_flag_test_and_set(&over))
        pause();
    printf("{\"error\": \"\", \"refused\": %d, \"workers\": [", refused);
    for (int at = 0; at < task->connections; at++) {
        printf("%s", at ? ", " : "");
        print_own(workers + at);
        printf("}");
    }
    printf("]}\n");
    return finished();
}

static int serve(const struct options *options, const char *token)
{
    static struct door door;
    static struct control control;
    static struct task task;
    static int sockets[CONNECTIONS];
    static void *(*const kinds[MODES])(void *) = {answer, take_calls};

    door.token = token;
    door.fd = open_door(options, token);
    control.fd = admit(&door, CONTROL, now() + (int64_t)(options->deadline * SECOND), -1);
    task = task_in(next_line(&control, PATIENCE));
    say(&control, "accepted\n");
    if (task.mode == CALLS)
        prepare_lobby(&door);
    else {
        for (int at = 0; at < task.connections; at++)
            sockets[at] = admit(&door, DATA, now() + 2 * PATIENCE, control.fd);
        shut(&door);
    }
    say(&control, "ready\n");
    if (strcmp(next_line(&control, PATIENCE), "start"))
        fail("the client did not start");
    struct worker *workers = start(&task, sockets, kinds[task.mode], false);
    await_windows(control.fd, &task);
    send_report(&control, workers, &task);
    struct pollfd wanted = {.fd = control.fd, .events = POLLIN};
    poll(&wanted, 1, (int)(2 * PATIENCE / 1000000)); /* the client ends it */
    unlink(port_file);
    return print_workers(workers, &task, door.refused + (int)strangers);
}

/* The command line. */

/* A number that is one to its end. */
static double number_of(const char *text)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !isfinite(number) || number < 0 || number > 1e15) {
        fprintf(stderr, "no number: %.40s\n", text);
        exit(2);
    }
    return number;
}

static int64_t nanoseconds(double seconds)
{
    return seconds > 86400 ? DAY + 1 : (int64_t)(seconds * SECOND);
}

static struct options options_of(int count, char **words)
{
    struct options found = {.key = "", .sealed = "", .port_file = "", .listen = "",
                            .connect = "", .mode = "", .port = "0"};
    const struct {
        const char *name, **text;
    } texts[] = {{"--key", &found.key},         {"--sealed", &found.sealed},
                 {"--port", &found.port},
                 {"--listen", &found.listen},   {"--connect", &found.connect},
                 {"--port-file", &found.port_file}, {"--mode", &found.mode}};
    const char *size = "0", *answer = "0", *connections = "0";
    const char *deadline = "0", *warmup = "0", *seconds = "0", *rate = "0";
    const struct {
        const char *name, **text;
    } numbers[] = {{"--size", &size},         {"--answer", &answer},
                   {"--connections", &connections}, {"--deadline", &deadline},
                   {"--warmup", &warmup},     {"--seconds", &seconds}, {"--rate", &rate}};

    for (int at = 0; at < count; at += 2) {
        const char **into = NULL;
        for (size_t one = 0; one < sizeof texts / sizeof *texts; one++)
            into = strcmp(words[at], texts[one].name) ? into : texts[one].text;
        for (size_t one = 0; one < sizeof numbers / sizeof *numbers; one++)
            into = strcmp(words[at], numbers[one].name) ? into : numbers[one].text;
        if (!into || at + 1 == count) {
            fprintf(stderr, "no option, or nothing behind it: %.40s\n", words[at]);
            exit(2);
        }
        *into = words[at + 1];
    }
    number_of(found.port);
    found.deadline = number_of(deadline);
    found.task = (struct task){
        .size = (int64_t)number_of(size),
        .answer = (int64_t)number_of(answer),
        .connections = (int64_t)number_of(connections),
        .warmup = nanoseconds(number_of(warmup)),
        .window = nanoseconds(number_of(seconds)),
        .mode = mode_of(found.mode, strlen(found.mode)),
    };
    if (number_of(rate) > 0)
        found.task.interval = nanoseconds((double)found.task.connections / number_of(rate));
    return found;
}

/* Wait for the server's file; what it says, port 0 of a server that could not listen. */
static int print_port(const char *path)
{
    const struct timespec pause_between = {.tv_nsec = 20000000};
    int64_t deadline = now() + 2 * PATIENCE;
    char text[TOKEN + 16];
    ssize_t got;

    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            got = read(fd, text, sizeof text);
            close(fd);
            break;
        }
        if (now() > deadline) {
            fprintf(stderr, "the server does not listen\n");
            return 1;
        }
        nanosleep(&pause_between, NULL);
    }
    if (got > 0)
        put(STDOUT_FILENO, text, (size_t)got);
    return got > 0 ? 0 : 1;
}

int main(int count, char **words)
{
    char token[TOKEN + 1];

    if (count == 3 && strcmp(words[1], "key") == 0)
        return make_key(words[2]);
    if (count == 3 && strcmp(words[1], "port") == 0)
        return print_port(words[2]);
    bool server = count > 1 && strcmp(words[1], "server") == 0;
    if (!server && (count < 2 || strcmp(words[1], "client"))) {
        fprintf(stderr, "a role is needed: key, port, server or client\n");
        return 2;
    }
    struct options options = options_of(count - 2, words + 2);
    if ((!server && !*options.key) || options.deadline <= 0 || options.deadline > 1e6) {
        fprintf(stderr, "a deadline, and a key of the client, are needed\n");
        return 2;
    }
    hear_signals(options.deadline);
    if (server)
        draw_token(token);
    else
        token_in(options.key, options.sealed, token);
    /* threads are still at work: nothing is to be torn down beneath them */
    _exit(server ? serve(&options, token) : measure(&options, token));
}
