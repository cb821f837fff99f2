/* Agreement of both ends: what is run, and the lines of the control connection. */

struct task {
    int64_t size, answer; /* bytes of a request and of its answer */
    int64_t connections;
    int64_t warmup, window; /* nanoseconds */
    int64_t interval; /* nanoseconds between messages of one connection; 0: as fast as they go */
    int mode;
};

/* How the line of a task begins: requests over connections that stay, or each over one of its own. */
enum { REQUESTS, CALLS, MODES };
static const char *const modes[MODES] = {"rr", "crr"};

/* The mode of that name; -1: there is none. */
static int mode_of(const char *name, size_t length)
{
    for (int mode = 0; mode < MODES; mode++)
        if (strlen(modes[mode]) == length && strncmp(modes[mode], name, length) == 0)
            return mode;
    return -1;
}

static void check(const struct task *task)
{
    if (task->size < 1 || task->size > LARGEST || task->answer < 1 || task->answer > LARGEST)
        fail("a message of no size, or too large");
    if (task->connections < 1 || task->connections > CONNECTIONS)
        fail("no connections, or too many");
    if (task->warmup < 0 || task->warmup > DAY || task->window < 1 || task->window > DAY ||
        task->interval < 0 || task->interval > DAY)
        fail("a time that cannot be");
}

/* So many whole numbers, a blank between them; false for anything else. */
static bool numbers_in(const char *text, int64_t *into, int count)
{
    for (int at = 0; at < count; at++) {
        int digits = 0;
        int64_t value = 0;

        if (at && *text++ != ' ')
            return false;
        for (; *text >= '0' && *text <= '9'; text++) {
            if (++digits > 18)
                return false;
            value = 10 * value + (*text - '0');
        }
        if (!digits)
            return false;
        into[at] = value;
    }
    return *text == '\0';
}

static struct task task_in(const char *line)
{
    size_t length = strcspn(line, " ");
    int mode = mode_of(line, length);
    int64_t found[6];

    if (mode < 0 || line[length] != ' ' || !numbers_in(line + length + 1, found, 6))
        fail("the client speaks another language");
    struct task task = {found[0], found[1], found[2], found[3], found[4], found[5], mode};
    check(&task);
    return task;
}

/* The control connection: what came of it, and was not looked at yet. */
struct control {
    int fd;
    size_t from, to;
    char held[CONNECTIONS * 100];
};

/* A line that has come, without its end; NULL: there is none yet. */
static char *line_held(struct control *control)
{
    char *begin = control->held + control->from;
    char *end = memchr(begin, '\n', control->to - control->from);

    if (!end)
        return NULL;
    *end = '\0';
    control->from = (size_t)(end + 1 - control->held);
    return begin;
}

/* Take what has come. It is called when something has. */
static void receive(struct control *control)
{
    if (control->to == sizeof control->held)
        fail("the other end does not stop talking");
    ssize_t got = recv(control->fd, control->held + control->to,
                       sizeof control->held - control->to, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        fail("the other end went away");
    if (got > 0)
        control->to += (size_t)got;
}

static char *next_line(struct control *control, int64_t patience)
{
    int64_t deadline = now() + patience;
    char *line;

    while (!(line = line_held(control))) {
        struct pollfd wanted = {.fd = control->fd, .events = POLLIN};
        if (poll(&wanted, 1, SLICE) > 0)
            receive(control);
        else if (now() > deadline)
            fail("the other end did not answer in time");
    }
    return line;
}

static bool send_all(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t sent = send(fd, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0) {
            text += sent;
            length -= (size_t)sent;
        }
    }
    return true;
}

static void say(struct control *control, const char *text)
{
    if (!send_all(control->fd, text, strlen(text)))
        fail("the other end went away");
}
