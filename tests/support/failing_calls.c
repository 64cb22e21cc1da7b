/* Preloaded: the n-th call on a file below a directory fails, or kills its process. See forked_commands.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS 65536
#define KILL (-1)

static char below[4096];
static long calls, target;
static int code, lasting;
static unsigned char tracked[DESCRIPTORS];

void arm(const char *directory, long nth, int error, int stays) {
    strncpy(below, directory, sizeof below - 1);
    calls = 0, target = nth, code = error, lasting = stays;
}

long disarm(void) {
    below[0] = 0;
    return calls;
}

static int is_below(const char *path) { return below[0] && path && strncmp(path, below, strlen(below)) == 0; }

static int is_tracked(int file) { return below[0] && file >= 0 && file < DESCRIPTORS && tracked[file]; }

/* Whether this call fails; errno is set. Only opening runs out of descriptors, and only what may be repeated is
   interrupted. Locks fail once: SQLite waits for each of them that fails. */
static int fails(int opens, int repeated, int locks) {
    long now = __sync_add_and_fetch(&calls, 1);
    if (!target || now < target || (now > target && (locks || !lasting))) return 0;
    if (code == KILL) kill(getpid(), SIGKILL);
    errno = (code == EMFILE && !opens) || (code == EINTR && !repeated) ? EIO : code;
    return 1;
}

#define REAL(name) ((__typeof__(&name))(real ? real : (real = dlsym(RTLD_NEXT, #name))))

static int noted(int file, int follow) {
    if (file >= 0 && file < DESCRIPTORS) tracked[file] = follow;
    return file;
}

#define OPENS(name)                                                                     \
    int name(const char *path, int flags, ...) {                                        \
        static void *real;                                                              \
        va_list rest;                                                                   \
        va_start(rest, flags);                                                          \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;         \
        va_end(rest);                                                                   \
        int follow = is_below(path);                                                    \
        if (follow && fails(1, 1, 0)) return -1;                                           \
        return noted(REAL(name)(path, flags, mode), follow);                            \
    }
OPENS(open)
OPENS(open64)

#define ON_FILE(name, repeated, arguments, passed, result)          \
    result name arguments {                                         \
        static void *real;                                          \
        if (is_tracked(file) && fails(0, repeated, 0)) return -1;      \
        return REAL(name) passed;                                   \
    }
ON_FILE(write, 1, (int file, const void *data, size_t size), (file, data, size), ssize_t)
ON_FILE(pwrite, 1, (int file, const void *data, size_t size, off_t at), (file, data, size, at), ssize_t)
ON_FILE(pwrite64, 1, (int file, const void *data, size_t size, off64_t at), (file, data, size, at), ssize_t)
ON_FILE(fsync, 1, (int file), (file), int)
ON_FILE(fdatasync, 1, (int file), (file), int)
ON_FILE(ftruncate, 0, (int file, off_t size), (file, size), int)
ON_FILE(ftruncate64, 0, (int file, off64_t size), (file, size), int)
int flock(int file, int operation);
int flock(int file, int operation) {
    static void *real;
    if (is_tracked(file) && fails(0, 1, 1)) return -1;
    return REAL(flock)(file, operation);
}

#define CONTROLS(name)                                                                              \
    int name(int file, int command, ...) {                                                          \
        static void *real;                                                                          \
        va_list rest;                                                                               \
        va_start(rest, command);                                                                    \
        void *value = va_arg(rest, void *);                                                         \
        va_end(rest);                                                                               \
        if ((command == F_SETLK || command == F_SETLKW) && is_tracked(file) && fails(0, 0, 1)) return -1; \
        int made = REAL(name)(file, command, value);                                                \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? noted(made, is_tracked(file)) : made; \
    }
CONTROLS(fcntl)
CONTROLS(fcntl64)

#define ON_PATH(name, arguments, passed)                \
    int name arguments {                                \
        static void *real;                              \
        if (is_below(path) && fails(0, 0, 0)) return -1;   \
        return REAL(name) passed;                       \
    }
int rename(const char *path, const char *to);
ON_PATH(rename, (const char *path, const char *to), (path, to))
int mkdir(const char *path, mode_t mode);
ON_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
