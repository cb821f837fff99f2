/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104), of short texts. */

#define DIGEST 32
#define BLOCK 64

static uint32_t turned(uint32_t word, int by)
{
    return word >> by | word << (32 - by);
}

static void sha256_block(uint32_t *state, const unsigned char *block)
{
    static const uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
        0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
        0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
        0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
        0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
        0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
        0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
        0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
        0xc67178f2,
    };
    uint32_t words[64], v[8];

    for (int at = 0; at < 16; at++)
        words[at] = (uint32_t)block[4 * at] << 24 | (uint32_t)block[4 * at + 1] << 16 |
                    (uint32_t)block[4 * at + 2] << 8 | block[4 * at + 3];
    for (int at = 16; at < 64; at++) {
        uint32_t far = words[at - 15], near = words[at - 2];
        words[at] = words[at - 16] + (turned(far, 7) ^ turned(far, 18) ^ far >> 3) +
                    words[at - 7] + (turned(near, 17) ^ turned(near, 19) ^ near >> 10);
    }
    memcpy(v, state, sizeof v);
    for (int at = 0; at < 64; at++) {
        uint32_t one = v[7] + (turned(v[4], 6) ^ turned(v[4], 11) ^ turned(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[at] + words[at];
        uint32_t two = (turned(v[0], 2) ^ turned(v[0], 13) ^ turned(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int at = 0; at < 8; at++)
        state[at] += v[at];
}

/* Of at most two blocks less their padding: more is never asked for here. */
static void sha256(const unsigned char *text, size_t length, unsigned char *digest)
{
    uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    unsigned char padded[2 * BLOCK] = {0};
    size_t size = length + 9 <= BLOCK ? BLOCK : sizeof padded;

    memcpy(padded, text, length);
    padded[length] = 0x80;
    padded[size - 2] = (unsigned char)(length * 8 >> 8);
    padded[size - 1] = (unsigned char)(length * 8);
    for (size_t at = 0; at < size; at += BLOCK)
        sha256_block(state, padded + at);
    for (int at = 0; at < DIGEST; at++)
        digest[at] = (unsigned char)(state[at / 4] >> (24 - 8 * (at % 4)));
}

/* ``key``: DIGEST bytes; ``text``: at most DIGEST bytes. */
static void hmac(const unsigned char *key, const unsigned char *text, size_t length,
                 unsigned char *digest)
{
    unsigned char inner[BLOCK + DIGEST] = {0}, outer[BLOCK + DIGEST] = {0};

    memcpy(inner, key, DIGEST);
    memcpy(outer, key, DIGEST);
    for (int at = 0; at < BLOCK; at++) {
        inner[at] ^= 0x36;
        outer[at] ^= 0x5c;
    }
    memcpy(inner + BLOCK, text, length);
    sha256(inner, BLOCK + length, outer + BLOCK);
    sha256(outer, sizeof outer, digest);
}
