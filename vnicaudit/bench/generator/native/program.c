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
 * translation unit: they are put together in the order of vnicaudit/bench/generator/program.py and
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
