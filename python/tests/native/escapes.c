// Counts what a process reads of the real clock and of real chance, between escapes_start and escapes_stop. Preloaded before libc (Linux):
//
//   cc -shared -fPIC -o escapes.so escapes.c -ldl && LD_PRELOAD=./escapes.so python ...
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>

enum { FRAMES_MAX = 12 };
enum { CLOCK_GETTIME, GETTIMEOFDAY, TIME, GETRANDOM, GETENTROPY, KINDS };

static const char *const NAMES[KINDS] = {"clock_gettime", "gettimeofday", "time", "getrandom", "getentropy"};
static atomic_int is_counting;
static atomic_long counts[KINDS];

static const char *const LOCKS[] = {"PyThread_acquire_lock", "PyEval_AcquireThread", "PyEval_RestoreThread"};

// The interpreter reads the clock when it takes a lock, to know how long it waited. The agent sees nothing of it.
static int is_of_a_lock(void) {
    void *frames[FRAMES_MAX];
    int depth = backtrace(frames, FRAMES_MAX);
    for (int index = 0; index < depth; index++) {
        Dl_info found;
        if (!dladdr(frames[index], &found) || !found.dli_sname) continue;
        for (size_t name = 0; name < sizeof LOCKS / sizeof *LOCKS; name++)
            if (!strncmp(found.dli_sname, LOCKS[name], strlen(LOCKS[name]))) return 1;
    }
    return 0;
}

static void count(int kind) {
    if (!atomic_load(&is_counting) || (kind == CLOCK_GETTIME && is_of_a_lock())) return;
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
    count(CLOCK_GETTIME);
    return real(clock, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    REAL(gettimeofday);
    count(GETTIMEOFDAY);
    return real(now, zone);
}

time_t time(time_t *now) {
    REAL(time);
    count(TIME);
    return real(now);
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags) {
    REAL(getrandom);
    count(GETRANDOM);
    return real(bytes, length, flags);
}

int getentropy(void *bytes, size_t length) {
    REAL(getentropy);
    count(GETENTROPY);
    return real(bytes, length);
}
