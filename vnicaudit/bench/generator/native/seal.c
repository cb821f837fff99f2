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
