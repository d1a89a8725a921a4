// Counts what a process reads of the real clock and of real chance, between escapes_start and escapes_stop. Preloaded before libc (Linux):
//
//   cc -shared -fPIC -o escapes.so escapes.c -ldl && LD_PRELOAD=./escapes.so python ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>

enum { CLOCK_GETTIME, GETTIMEOFDAY, TIME, GETRANDOM, GETENTROPY, KINDS };

static const char *const NAMES[KINDS] = {"clock_gettime", "gettimeofday", "time", "getrandom", "getentropy"};
static atomic_int is_counting;
static atomic_long counts[KINDS];

// The interpreter reads the clock for its own locks and waits, which no agent sees. What agents do in Python is counted there, by the profiler.
static int is_interpreter(const void *caller) {
    Dl_info found;
    if (!dladdr(caller, &found) || !found.dli_fname) return 0;
    const char *slash = strrchr(found.dli_fname, '/');
    const char *name = slash ? slash + 1 : found.dli_fname;
    return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9) || !strncmp(name, "select.", 7);
}

static void count(int kind, const void *caller) {
    if (!atomic_load(&is_counting) || (kind == CLOCK_GETTIME && is_interpreter(caller))) return;
    atomic_fetch_add(&counts[kind], 1);
    // The first escape can be looked at: with ESCAPES_ABORT the process ends where it happens.
    if (getenv("ESCAPES_ABORT")) abort();
}

void escapes_start(void) {
    for (int kind = 0; kind < KINDS; kind++) atomic_store(&counts[kind], 0);
    atomic_store(&is_counting, 1);
}

void escapes_stop(void) { atomic_store(&is_counting, 0); }
int escapes_kinds(void) { return KINDS; }
const char *escapes_name(int kind) { return NAMES[kind]; }
long escapes_count(int kind) { return atomic_load(&counts[kind]); }

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

int clock_gettime(clockid_t clock, struct timespec *now) {
    REAL(clock_gettime);
    count(CLOCK_GETTIME, __builtin_return_address(0));
    return real(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    count(GETTIMEOFDAY, __builtin_return_address(0));
    return real(now, zone);
}

time_t time(time_t *now) {
    REAL(time);
    count(TIME, __builtin_return_address(0));
    return real(now);
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags) {
    REAL(getrandom);
    count(GETRANDOM, __builtin_return_address(0));
    return real(bytes, length, flags);
}

int getentropy(void *bytes, size_t length) {
    REAL(getentropy);
    count(GETENTROPY, __builtin_return_address(0));
    return real(bytes, length);
}
