/* One thread and its connection, and the window that is counted. */

#define BITS 11 /* of a latency that are kept: three digits, as HdrHistogram does */
#define SHIFTS 26
#define LONGEST ((INT64_C(1) << (BITS + SHIFTS - 1)) - 1)

/* An end of the window, and the CPU time that was had, that was had in the kernel, and that was
 * waited for until then. */
struct mark {
    int64_t at, ran, kernel, waited;
};

struct worker {
    pthread_t thread;
    const struct task *task;
    int fd;
    int schedstat; /* of this thread: is opened by it */
    int64_t begin, end, next; /* of the window; when to look at the clocks next */
    int marked;
    struct mark marks[2];
    int64_t due; /* the next message, where there is an interval */
    int64_t transactions, bytes, late, sum, longest, waiting, oldest;
    uint64_t (*counts)[1 << BITS]; /* of the client: latencies by shift and by what is left */
    atomic_uint_fast64_t progress;
};

static pthread_mutex_t results = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t everybody;
static int reported[2]; /* a pipe: a byte for each thread whose window is over */

/* Nanoseconds that this thread was ready to run and did not (Documentation/scheduler/
 * sched-stats.rst); 0 where the kernel does not count them. */
static int64_t waited(int schedstat)
{
    char text[100];
    long long ran, found;
    ssize_t got = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text - 1, 0);

    if (got <= 0)
        return 0;
    text[got] = '\0';
    return sscanf(text, "%lld %lld", &ran, &found) == 2 && found > 0 ? found : 0;
}

/* Nanoseconds in which the kernel worked for this thread. */
static int64_t in_kernel(void)
{
    struct rusage usage;

    getrusage(RUSAGE_THREAD, &usage);
    return (int64_t)usage.ru_stime.tv_sec * SECOND + (int64_t)usage.ru_stime.tv_usec * 1000;
}

static int64_t ran(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

/* The window begins, or is over. ``since``: when the request was sent that had its answer now. */
static void mark(struct worker *worker, int64_t at, int64_t since)
{
    pthread_mutex_lock(&results);
    while (worker->marked < 2 && at >= worker->next) {
        worker->marks[worker->marked++] =
            (struct mark){at, ran(), in_kernel(), waited(worker->schedstat)};
        worker->next = worker->marked == 1 ? worker->end : INT64_MAX;
    }
    if (worker->marked == 2) {
        worker->waiting = since < worker->end;
        worker->oldest = worker->waiting ? worker->end - since : 0;
    }
    pthread_mutex_unlock(&results);
    if (worker->marked == 2)
        put(reported[1], "!", 1);
}

/* To three digits: the lower edge of HdrHistogram's bucket. */
static void count(struct worker *worker, int64_t latency)
{
    int64_t value = latency < LONGEST ? latency : LONGEST;
    int shift = 0;

    while (value >> (BITS + shift))
        shift++;
    worker->counts[shift][value >> shift]++;
    worker->sum += latency;
    if (latency > worker->longest)
        worker->longest = latency;
}

static void answered(struct worker *worker, int64_t at, int64_t since)
{
    if (at >= worker->begin && at < worker->end) {
        worker->transactions++;
        worker->bytes += worker->task->size + worker->task->answer;
        if (worker->counts)
            count(worker, at - since);
    }
    if (at >= worker->next)
        mark(worker, at, since);
    atomic_fetch_add_explicit(&worker->progress, 1, memory_order_relaxed);
}

/* Wait for the next message's turn. Returns since when its answer is waited for: from when it was
 * due, where the answer before came later than that, for then it had to wait. */
static int64_t turn(struct worker *worker)
{
    int64_t due = worker->due, at = now();

    worker->due += worker->task->interval;
    if (at > due)
        return due;
    while (at < due) {
        int64_t until = due < worker->next ? due : worker->next;
        struct timespec time = {.tv_sec = until / SECOND, .tv_nsec = until % SECOND};

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
        at = now();
        if (at >= worker->next)
            mark(worker, at, INT64_MAX);
    }
    if (at - due > LATE && at >= worker->begin && at < worker->end)
        worker->late++;
    return at;
}

/* False where the connection ended. */
static bool send_message(int fd, int64_t size)
{
    static const char nothing[CHUNK];

    for (int64_t left = size; left > 0; left -= CHUNK)
        if (!send_all(fd, nothing, (size_t)(left < CHUNK ? left : CHUNK)))
            return false;
    return true;
}

/* Of a socket with a time limit: ``worker`` looks at the clock and waits on. */
static bool receive_message(struct worker *worker, int fd, char *buffer, int64_t size)
{
    for (int64_t left = size; left > 0;) {
        ssize_t got = recv(fd, buffer, (size_t)(left < CHUNK ? left : CHUNK), 0);
        if (got < 0 && worker && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            int64_t at = now();
            if (at >= worker->next)
                mark(worker, at, INT64_MAX);
        } else if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        } else if (got > 0) {
            left -= got;
        }
    }
    return true;
}

/* What a thread begins with, when all are there. Returns where it puts what it reads. */
static char *prepared(struct worker *worker, int64_t size)
{
    char *buffer = memory(1, (size_t)(size < CHUNK ? size : CHUNK));

    prctl(PR_SET_TIMERSLACK, 1UL);
    worker->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    pthread_barrier_wait(&everybody);
    return buffer;
}

/* The client's end: a request, its answer, the next one. */
static void *ask(void *argument)
{
    struct worker *worker = argument;
    const struct task *task = worker->task;
    char *buffer = prepared(worker, task->answer);
    int64_t since = now();

    for (;;) {
        if (task->interval)
            since = turn(worker);
        if (!send_message(worker->fd, task->size) ||
            !receive_message(NULL, worker->fd, buffer, task->answer))
            fail("a connection was lost");
        int64_t at = now();
        answered(worker, at, since);
        since = at;
    }
    return NULL;
}

/* The server's end. */
static void *answer(void *argument)
{
    struct worker *worker = argument;
    const struct task *task = worker->task;
    char *buffer = prepared(worker, task->size);

    while (receive_message(worker, worker->fd, buffer, task->size)) {
        answered(worker, now(), INT64_MAX);
        if (!send_message(worker->fd, task->answer))
            break;
    }
    if (worker->marked < 2)
        fail("the connections ended before their time");
    return NULL;
}

/* Requests come at a rate: a thread that waits for one looks at the clock, so that its window ends
 * in time. */
static void tick(int fd)
{
    struct timeval time = {.tv_usec = TICK};

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

/* A thread for each connection, its clock running. ``asks``: it is the client's. */
static struct worker *start(const struct task *task, const int *sockets, void *(*kind)(void *),
                            bool asks)
{
    struct worker *workers = memory((size_t)task->connections, sizeof *workers);
    pthread_attr_t small;

    if (pipe(reported) || pthread_barrier_init(&everybody, NULL, (unsigned)task->connections + 1))
        fail("no pipe, or no threads: %s", strerror(errno));
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (int at = 0; at < task->connections; at++) {
        struct worker *worker = workers + at;
        worker->task = task;
        worker->fd = sockets[at];
        if (task->interval && !asks)
            tick(worker->fd);
        if (asks)
            worker->counts = memory(SHIFTS, sizeof *worker->counts);
        int wrong = pthread_create(&worker->thread, &small, kind, worker);
        if (wrong)
            fail("no thread: %s", strerror(wrong));
    }
    int64_t first = now();
    for (int at = 0; at < task->connections; at++) {
        struct worker *worker = workers + at;
        worker->begin = worker->next = first + task->warmup;
        worker->end = worker->begin + task->window;
        worker->due = first + task->interval / task->connections * at;
    }
    pthread_barrier_wait(&everybody);
    return workers;
}

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
