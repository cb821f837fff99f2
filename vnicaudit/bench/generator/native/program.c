/* Requests and answers over TCP: the generator.
 *
 *     server --deadline S --port-file F [--listen A] [--port P]
 *     port F
 *     key F
 *     client --key F --sealed T --deadline S --connect A --port P --mode rr --size 200
 *            --answer 1000 --connections 50 --seconds 10 [--warmup 2] [--rate R]
 *
 * ``port`` waits for the server's file and prints the port and the token in it; ``key`` makes a key
 * for one client and prints it; what is sealed is the token, with the key. The others print their result at
 * the end: one line of JSON, with any failure in its ``error``. The files of this folder are one
 * translation unit: they are put together in the order of vnicaudit/bench/generator/__init__.py and
 * compiled on the controller, for the architecture of each end. C11, POSIX and Linux. What is
 * counted, and what is not: docs/decisions/0007-own-generator.md.
 */
#define _GNU_SOURCE /* RUSAGE_THREAD */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000) /* times are nanoseconds of CLOCK_MONOTONIC */
#define PATIENCE (5 * SECOND)      /* for a step of the handshake, and without any progress */
#define SLICE 500                  /* milliseconds of one wait */
#define STANDSTILL (2 * SECOND)    /* between two looks: this process had no CPU, or was stopped */
#define TOKEN 32                   /* characters that begin every connection; one more: its kind */
#define CONTROL 'C'
#define DATA 'D'
#define CONNECTIONS 500
#define WAITING 64                 /* connections that have not shown their token yet */
#define LARGEST (INT64_C(16) << 20) /* bytes of a message */
#define DAY (86400 * SECOND)
#define CHUNK (256 << 10)          /* bytes that are sent or read at once, at most */
#define LATE (SECOND / 1000)       /* a message that a free connection sends later than that is */
#define TICK 100000                /* microseconds after which a blocked thread looks at the clock */

static atomic_flag over = ATOMIC_FLAG_INIT; /* somebody is telling how it ended */
static const char *port_file;               /* of the server: is removed at the end */

static int64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

/* All of a text, whatever signals come. */
static void put(int fd, const char *text, size_t length)
{
    while (length) {
        ssize_t wrote = write(fd, text, length);
        if (wrote < 0 && errno != EINTR)
            return;
        if (wrote > 0) {
            text += wrote;
            length -= (size_t)wrote;
        }
    }
}

/* The line that says why there is no result, and the end. Calls nothing that a handler of signals
 * may not call. */
_Noreturn static void end_with(const char *reason)
{
    static const char before[] = "{\"error\": \"", behind[] = "\"}\n";
    char line[600];
    size_t length = sizeof before - 1;

    memcpy(line, before, length);
    for (; *reason && length < sizeof line - 8; reason++) {
        if (*reason == '"' || *reason == '\\')
            line[length++] = '\\';
        line[length++] = (unsigned char)*reason < ' ' ? ' ' : *reason;
    }
    memcpy(line + length, behind, sizeof behind - 1);
    put(STDOUT_FILENO, line, length + sizeof behind - 1);
    if (port_file)
        unlink(port_file);
    _exit(1);
}

/* The run cannot be finished; nothing that was counted is worth anything. */
_Noreturn static void fail(const char *format, ...)
{
    char reason[256];
    va_list values;

    va_start(values, format);
    vsnprintf(reason, sizeof reason, format, values);
    va_end(values);
    while (atomic_flag_test_and_set(&over))
        pause(); /* another thread ends it */
    end_with(reason);
}

/* SIGALRM is the deadline. */
static void give_up(int number)
{
    if (!atomic_flag_test_and_set(&over))
        end_with(number == SIGALRM ? "it took too long" : "it was ended");
}

static void hear_signals(double deadline)
{
    static const int signals[] = {SIGTERM, SIGALRM, SIGINT, SIGHUP};
    struct sigaction action = {.sa_handler = give_up};

    sigfillset(&action.sa_mask);
    for (size_t at = 0; at < sizeof signals / sizeof *signals; at++)
        sigaction(signals[at], &action, NULL);
    alarm((unsigned)deadline + 1);
}

static void *memory(size_t number, size_t size)
{
    void *found = calloc(number, size);

    if (!found)
        fail("there is no memory");
    return found;
}

/* Tokens. The server draws its own, and tells it with its port, in a file that only its user can
 * read. The client is told it on a command line, which everybody on the machine can read: added to a
 * key of this one run, drawn at the client's end and kept in a file like that. */

#define KEY (TOKEN / 2)

static void to_hex(const unsigned char *bytes, size_t length, char *text)
{
    for (size_t at = 0; at < length; at++)
        snprintf(text + 2 * at, 3, "%02x", bytes[at]);
}

static int digit_of(char letter)
{
    const char *digits = "0123456789abcdef", *found = strchr(digits, letter);

    return letter && found ? (int)(found - digits) : -1;
}

/* Exactly so many bytes of hexadecimal digits. */
static bool from_hex(const char *text, unsigned char *bytes, size_t length)
{
    if (strlen(text) != 2 * length)
        return false;
    for (size_t at = 0; at < length; at++) {
        int high = digit_of(text[2 * at]), low = digit_of(text[2 * at + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[at] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* Exactly so many bytes of a file. */
static bool read_bytes(const char *path, unsigned char *bytes, size_t length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, bytes, length);

    if (fd >= 0)
        close(fd);
    return got == (ssize_t)length;
}

/* Keep a new key at a path where nothing is yet, and print it. */
static int make_key(const char *path)
{
    unsigned char key[KEY];
    char text[2 * KEY + 1];
    int fd = -1;

    if (read_bytes("/dev/urandom", key, KEY))
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, key, KEY) != KEY || close(fd) != 0) {
        fprintf(stderr, "a key cannot be kept: %s\n", strerror(errno));
        return 1;
    }
    to_hex(key, KEY, text);
    return printf("%s\n", text) < 0 || fflush(stdout) ? 1 : 0;
}

/* The client's token: what is sealed, without the key at a path, which is used once. */
static void token_in(const char *path, const char *sealed, char *token)
{
    unsigned char key[KEY], data[KEY];

    if (!from_hex(sealed, data, KEY) || !read_bytes(path, key, KEY))
        fail("there is no key, or nothing that is sealed");
    unlink(path);
    for (int at = 0; at < KEY; at++)
        data[at] ^= key[at];
    to_hex(data, KEY, token);
}

/* The server's token. */
static void draw_token(char *token)
{
    unsigned char data[KEY];

    if (!read_bytes("/dev/urandom", data, KEY))
        fail("no token can be drawn: %s", strerror(errno));
    to_hex(data, KEY, token);
}

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
