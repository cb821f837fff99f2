/* The client's end: says what is run, and prints what came of it. */

struct options {
    const char *key, *sealed, *port_file, *listen, *connect, *mode, *port;
    double deadline;
    struct task task;
};

static void expect(struct control *control, const char *word)
{
    if (strcmp(next_line(control, 2 * PATIENCE), word))
        fail("the server speaks another language");
}

/* Fails where nothing came or went on a connection for PATIENCE, or two intervals more. Where this process itself
 * stood still, nothing could: its threads get that time anew. */
static void check_progress(struct worker *workers, int64_t connections)
{
    static struct {
        uint_fast64_t number;
        int64_t since;
    } seen[CONNECTIONS];
    static int64_t looked;
    int64_t time = now();
    bool stood_still = time - looked > STANDSTILL;

    looked = time;
    for (int at = 0; at < connections; at++) {
        uint_fast64_t number =
            atomic_load_explicit(&workers[at].progress, memory_order_relaxed);
        if (number != seen[at].number || stood_still) {
            seen[at].number = number;
            seen[at].since = time;
        } else if (time - seen[at].since > PATIENCE + 2 * workers[at].task->interval) {
            fail("nothing came or went for 5 s");
        }
    }
}

/* Until the windows of both ends are over. The load goes on all the time; what the server counted
 * is held in ``control`` then, a line for each of its threads. */
static void await_reports(struct worker *workers, struct control *control, int64_t connections)
{
    int64_t own = 0, lines = 0;
    size_t looked = control->from;

    while (own < connections || lines < connections) {
        struct pollfd wanted[] = {{.fd = control->fd, .events = POLLIN},
                                  {.fd = reported[0], .events = POLLIN}};
        if (poll(wanted, 2, SLICE) > 0) {
            char bytes[CONNECTIONS];
            if (wanted[0].revents)
                receive(control);
            if (wanted[1].revents)
                own += read(reported[0], bytes, sizeof bytes);
        }
        for (; looked < control->to; looked++)
            lines += control->held[looked] == '\n';
        check_progress(workers, connections);
    }
}

static void print_counts(const struct worker *workers, int64_t connections)
{
    const char *between = "";

    printf("\"counts\": [");
    for (int shift = 0; shift < SHIFTS; shift++)
        for (uint64_t value = 0; value < 1 << BITS; value++) {
            uint64_t number = 0;
            for (int at = 0; at < connections; at++)
                number += workers[at].counts[shift][value];
            if (number) {
                printf("%s[%llu, %llu]", between, (unsigned long long)(value << shift),
                       (unsigned long long)number);
                between = ", ";
            }
        }
    printf("]");
}

#define COUNTED 7 /* numbers of a side */

/* What a thread counted: its requests, bytes, messages sent late, and the nanoseconds that it ran, that the kernel worked for
 * it, that it waited for a CPU, and that it was watched. */
static void side_of(const struct worker *worker, int64_t *side)
{
    const struct mark *first = worker->marks, *last = worker->marks + 1;

    side[0] = worker->transactions;
    side[1] = worker->bytes;
    side[2] = worker->late;
    side[3] = last->ran - first->ran;
    side[4] = last->kernel > first->kernel ? last->kernel - first->kernel : 0;
    side[5] = last->waited - first->waited;
    side[6] = last->at - first->at;
}

/* What both ends say of a thread. */
static void print_side(const int64_t *side)
{
    double whole = (double)(side[6] > 0 ? side[6] : 1);

    printf("{\"bytes\": %lld, \"transactions\": %lld, \"cpu\": %.6f, \"kernel\": %.6f, "
           "\"wait\": %.6f, \"late\": %lld",
           (long long)side[1], (long long)side[0], (double)side[3] / whole,
           (double)side[4] / whole, (double)side[5] / whole, (long long)side[2]);
}

static void print_own(const struct worker *worker)
{
    int64_t side[COUNTED];

    side_of(worker, side);
    print_side(side);
}

static int finished(void)
{
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}

/* What the server counted. */
static void read_server(struct control *control, int64_t (*found)[COUNTED], int64_t connections)
{
    for (int at = 0; at < connections; at++)
        if (!numbers_in(line_held(control), found[at], COUNTED))
            fail("the server speaks another language");
}

static int print_result(struct worker *workers, struct control *control, const struct task *task)
{
    static int64_t there[CONNECTIONS][COUNTED];

    read_server(control, there, task->connections);
    while (atomic_flag_test_and_set(&over))
        pause();
    pthread_mutex_lock(&results);
    printf("{\"error\": \"\", ");
    print_counts(workers, task->connections);
    printf(", \"client\": [");
    for (int at = 0; at < task->connections; at++) {
        printf("%s", at ? ", " : "");
        print_own(workers + at);
        printf(", \"sum\": %lld, \"max\": %lld, \"waiting\": %lld, \"oldest\": %.9f}",
               (long long)workers[at].sum, (long long)workers[at].longest,
               (long long)workers[at].waiting, (double)workers[at].oldest / SECOND);
    }
    printf("], \"server\": [");
    for (int at = 0; at < task->connections; at++) {
        printf("%s", at ? ", " : "");
        print_side(there[at]);
        printf("}");
    }
    printf("]}\n");
    return finished();
}

/* Run a task against a server. */
static int measure(const struct options *options, const char *token)
{
    static struct control control;
    static int sockets[CONNECTIONS];
    static struct task task;
    static void *(*const kinds[MODES])(void *) = {ask, call};
    char line[200];

    task = options->task;
    if (task.mode < 0)
        fail("no such mode");
    check(&task);
    control.fd = connection_to(options->connect, options->port, token, CONTROL);
    snprintf(line, sizeof line, "%s %lld %lld %lld %lld %lld %lld\n", modes[task.mode],
             (long long)task.size, (long long)task.answer, (long long)task.connections,
             (long long)task.warmup, (long long)task.window, (long long)task.interval);
    say(&control, line);
    expect(&control, "accepted");
    if (task.mode == CALLS)
        prepare_calls(control.fd, token);
    for (int at = 0; task.mode != CALLS && at < task.connections; at++)
        sockets[at] = connection_to(options->connect, options->port, token, DATA);
    expect(&control, "ready");
    say(&control, "start\n");
    struct worker *workers = start(&task, sockets, kinds[task.mode], true);
    await_reports(workers, &control, task.connections);
    return print_result(workers, &control, &task);
}
