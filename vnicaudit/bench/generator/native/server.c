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
