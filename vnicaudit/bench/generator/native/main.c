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
