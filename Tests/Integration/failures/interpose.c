/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

/* Preloaded before a program: lets the n-th call of one C function fail, and counts calls and what is left allocated.
 *
 *   SEALKEY_FAIL=EVP_DigestVerify:3   the third call of it fails; the function itself is not called
 *   SEALKEY_FAIL=malloc:17            the 17th allocation by libfido2, libcrypto or libcbor gives NULL
 *   SEALKEY_FAIL=none:0               nothing fails; each place that allocates is told apart by the calls that led there
 *   SEALKEY_FAIL_LOG=FILE             at the end: "calls NAME COUNT" and "live LIBRARY BLOCKS" are appended to FILE, and
 *                                     "place HASH CALL" for the first allocation at each place, and "lookup refused 1" when
 *                                     memory was refused to the looking up of an algorithm
 *
 * Only calls from C libraries are refused memory: Swift's own allocations end the process by design.
 * libcrypto keeps an error queue and two random generators for each thread until the thread ends. So exit() first waits for
 * the program's own threads that have called libcrypto, up to three seconds, has the system's threads, which do not end, give
 * back theirs, and lets libcrypto tear itself down, which the program does not: what is left after that is left for good.
 * functions.h is made by failures.sh: F(name, what the function returns when it fails). All take integers or pointers.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

enum library { NONE, FIDO, CBOR, CRYPTO, LIBRARIES };
static const char *const library_names[] = {"none", "libfido2", "libcbor", "libcrypto"};
static struct { uintptr_t from, to; } ranges[LIBRARIES];

static char chosen[128];
static long chosen_call;
static _Atomic long allocations;

/* The program itself, as opposed to every library: whose threads are waited for. */
static uintptr_t program_from, program_to;

static int note_library(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  (void)context;
  if (!*info->dlpi_name && !program_to)
    for (int k = 0; k < info->dlpi_phnum; k++) {
      if (info->dlpi_phdr[k].p_type != PT_LOAD || !(info->dlpi_phdr[k].p_flags & PF_X)) continue;
      program_from = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr;
      program_to = program_from + info->dlpi_phdr[k].p_memsz;
    }
  for (int i = FIDO; i < LIBRARIES; i++) {
    if (!strstr(info->dlpi_name, library_names[i])) continue;
    for (int k = 0; k < info->dlpi_phnum; k++) {
      if (info->dlpi_phdr[k].p_type != PT_LOAD || !(info->dlpi_phdr[k].p_flags & PF_X)) continue;
      ranges[i].from = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr;
      ranges[i].to = ranges[i].from + info->dlpi_phdr[k].p_memsz;
    }
  }
  return 0;
}

static enum library caller(void *address) {
  for (int i = FIDO; i < LIBRARIES; i++)
    if ((uintptr_t)address >= ranges[i].from && (uintptr_t)address < ranges[i].to) return i;
  return NONE;
}

/* Live blocks of the libraries, by address: open addressing, never more than half full. */
#define PLACES (1 << 18)
static struct { void *block; unsigned char owner; } live[PLACES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counts[LIBRARIES];

/* Threads of the program that hold something of libcrypto's. */
static _Atomic int busy_threads;
static pthread_key_t ending;
static __thread int is_programs, is_counted;

/* Called when such a thread ends; asks to be called again until libcrypto's own turn is over. */
static void has_ended(void *round) {
  if ((intptr_t)round < PTHREAD_DESTRUCTOR_ITERATIONS - 1) pthread_setspecific(ending, (void *)((intptr_t)round + 1));
  else busy_threads--;
}

/* Threads of the system that call libcrypto for the program's tasks, and the first thread. */
#define POOL 256
static pthread_t pool[POOL];
static _Atomic int pool_lives[POOL], pool_count, pool_stopped;
static pthread_key_t leaving;

static void has_left(void *number) { pool_lives[(intptr_t)number - 1] = 0; }

static void stop_thread(int number) {
  (void)number;
  static void (*stop)(void);
  if (!stop) stop = (void (*)(void))dlsym(RTLD_DEFAULT, "OPENSSL_thread_stop");
  if (stop) stop();
  pool_stopped++;
}

static void note_thread(enum library owner) {
  if (owner != CRYPTO || is_counted) return;
  is_counted = 1;
  if (!is_programs) {
    int at = pool_count++;
    if (at >= POOL) return;
    pool[at] = pthread_self();
    pool_lives[at] = 1;
    pthread_setspecific(leaving, (void *)(intptr_t)(at + 1));
    return;
  }
  busy_threads++;
  pthread_setspecific(ending, (void *)1);
}

struct start { void *(*function)(void *); void *argument; };

static void *begin_thread(void *pointer) {
  struct start start = *(struct start *)pointer;
  __libc_free(pointer);
  is_programs = 1;
  return start.function(start.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!real) real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  uintptr_t from = (uintptr_t)__builtin_return_address(0);
  struct start *start = from >= program_from && from < program_to ? __libc_malloc(sizeof *start) : NULL;
  if (!start) return real(thread, attributes, function, argument);
  *start = (struct start){function, argument};
  int failed = real(thread, attributes, begin_thread, start);
  if (failed) __libc_free(start);
  return failed;
}

void exit(int code) {
  static void (*real)(int);
  if (!real) real = (void (*)(int))dlsym(RTLD_NEXT, "exit");
  for (int i = 0; i < 3000 && busy_threads > 0; i++) usleep(1000);
  signal(SIGUSR2, stop_thread);
  int asked = 0;
  for (int i = 0; i < pool_count && i < POOL; i++)
    if (pool_lives[i] && !pthread_equal(pool[i], pthread_self()) && pthread_kill(pool[i], SIGUSR2) == 0) asked++;
  for (int i = 0; i < 3000 && pool_stopped < asked; i++) usleep(1000);
  void (*cleanup)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "OPENSSL_cleanup");
  if (cleanup) cleanup();
  real(code);
  __builtin_unreachable();
}

/* The program ends by this one, which runs no destructor: what is left is counted first. One that has run out of something
   ends in the middle of what it does, by _Exit, and nothing is counted. */
void _exit(int code) { exit(code); }

static size_t place(void *block) { return (((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 46) % PLACES; }

static void keep(void *block, enum library owner) {
  if (!block || owner == NONE) return;
  note_thread(owner);
  pthread_mutex_lock(&lock);
  size_t at = place(block);
  while (live[at].block) at = (at + 1) % PLACES;
  live[at].block = block;
  live[at].owner = owner;
  counts[owner]++;
  pthread_mutex_unlock(&lock);
}

static enum library drop(void *block) {
  enum library owner = NONE;
  if (!block) return owner;
  pthread_mutex_lock(&lock);
  size_t at = place(block);
  while (live[at].block && live[at].block != block) at = (at + 1) % PLACES;
  if (live[at].block) {
    owner = live[at].owner;
    counts[owner]--;
    /* Whatever stands behind and may stand here moves up, so that no gap ends a search too early. */
    size_t gap = at;
    for (size_t next = (gap + 1) % PLACES; live[next].block; next = (next + 1) % PLACES) {
      size_t home = place(live[next].block);
      if ((next > gap && (home <= gap || home > next)) || (next < gap && home <= gap && home > next)) {
        live[gap] = live[next];
        gap = next;
      }
    }
    live[gap].block = NULL;
  }
  pthread_mutex_unlock(&lock);
  return owner;
}

/* Places that allocate: the innermost calls of the libraries and of the program that led there, wherever these lie. */
#define FRAMES 7
static struct { uint64_t hash; long call; } places[1 << 14];
static int looks_at_places;

static void note_place(long call) {
  static __thread int is_looking;
  if (!looks_at_places || is_looking) return;
  is_looking = 1;
  void *frames[FRAMES];
  int count = backtrace(frames, FRAMES);
  uint64_t hash = 14695981039346656037u;
  for (int i = 0; i < count; i++) {
    uintptr_t address = (uintptr_t)frames[i];
    enum library library = caller(frames[i]);
    if (library != NONE) address -= ranges[library].from;
    else if (address >= program_from && address < program_to) address -= program_from;
    else continue;
    hash = (hash ^ address) * 1099511628211u;
  }
  pthread_mutex_lock(&lock);
  size_t at = hash % (sizeof places / sizeof *places);
  while (places[at].call && places[at].hash != hash) at = (at + 1) % (sizeof places / sizeof *places);
  if (!places[at].call) {
    places[at].hash = hash;
    places[at].call = call;
  }
  pthread_mutex_unlock(&lock);
  is_looking = 0;
}

/* Whether memory was refused while libcrypto was looking an algorithm up by its name. */
static int in_lookup;

static void note_lookup(void) {
  void *frames[48];
  int count = backtrace(frames, 48);
  for (int i = 0; i < count; i++) {
    Dl_info info;
    if (caller(frames[i]) != CRYPTO || !dladdr(frames[i], &info) || !info.dli_sname) continue;
    size_t length = strlen(info.dli_sname);
    if (length > 6 && strcmp(info.dli_sname + length - 6, "_fetch") == 0) in_lookup = 1;
  }
}

static int refuses_memory(enum library owner) {
  if (owner == NONE) return 0;
  long call = ++allocations;
  note_place(call);
  if (call != chosen_call || strcmp(chosen, "malloc") != 0) return 0;
  note_lookup();
  return 1;
}

void *malloc(size_t size) {
  enum library owner = caller(__builtin_return_address(0));
  if (refuses_memory(owner)) return NULL;
  void *block = __libc_malloc(size);
  keep(block, owner);
  return block;
}

void *calloc(size_t count, size_t size) {
  enum library owner = caller(__builtin_return_address(0));
  if (refuses_memory(owner)) return NULL;
  void *block = __libc_calloc(count, size);
  keep(block, owner);
  return block;
}

void *realloc(void *old, size_t size) {
  enum library owner = caller(__builtin_return_address(0));
  if (refuses_memory(owner)) return NULL;
  enum library before = drop(old);
  void *block = __libc_realloc(old, size);
  keep(block ? block : old, owner != NONE ? owner : before);
  return block;
}

void free(void *block) {
  drop(block);
  __libc_free(block);
}

char *strdup(const char *text) {
  enum library owner = caller(__builtin_return_address(0));
  if (refuses_memory(owner)) return NULL;
  size_t size = strlen(text) + 1;
  char *copy = __libc_malloc(size);
  if (copy) memcpy(copy, text, size);
  keep(copy, owner);
  return copy;
}

/* One wrapper for each function: eight words in, one word out, which is every function in the list. What libcrypto
 * and libcbor call of themselves is theirs. */
typedef long (*any)(long, long, long, long, long, long, long, long);
struct function { const char *name; _Atomic long calls; };

#define F(name, failure) static struct function function_##name = {#name, 0};
#include "functions.h"
#undef F

#define F(name, failure)                                                                          \
  long name(long a, long b, long c, long d, long e, long f, long g, long h) {                     \
    static any real;                                                                              \
    enum library from = caller(__builtin_return_address(0));                                      \
    if (from == NONE || from == FIDO) {                                                           \
      long call = ++function_##name.calls;                                                        \
      if (call == chosen_call && strcmp(chosen, #name) == 0) return (long)(failure);              \
    }                                                                                             \
    if (!real) real = (any)dlsym(RTLD_NEXT, #name);                                               \
    return real(a, b, c, d, e, f, g, h);                                                          \
  }
#include "functions.h"
#undef F

static struct function *const functions[] = {
#define F(name, failure) &function_##name,
#include "functions.h"
#undef F
};

__attribute__((constructor)) static void begin(void) {
  dl_iterate_phdr(note_library, NULL);
  pthread_key_create(&ending, has_ended);
  pthread_key_create(&leaving, has_left);
  const char *wish = getenv("SEALKEY_FAIL");
  const char *colon = wish ? strchr(wish, ':') : NULL;
  if (colon && (size_t)(colon - wish) < sizeof chosen) {
    memcpy(chosen, wish, colon - wish);
    chosen_call = atol(colon + 1);
    if (strcmp(chosen, "none") == 0) {
      /* The first one loads the unwinder. */
      void *frame;
      looks_at_places = backtrace(&frame, 1);
    }
  }
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("SEALKEY_FAIL_LOG");
  FILE *log = path ? fopen(path, "ae") : NULL;
  if (!log) return;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (functions[i]->calls) fprintf(log, "calls %s %ld\n", functions[i]->name, functions[i]->calls);
  fprintf(log, "calls malloc %ld\n", allocations);
  for (size_t i = 0; looks_at_places && i < sizeof places / sizeof *places; i++)
    if (places[i].call) fprintf(log, "place %llx %ld\n", (unsigned long long)places[i].hash, places[i].call);
  fprintf(log, "lookup refused %d\n", in_lookup);
  fprintf(log, "threads key-threads %d\n", busy_threads);
  for (int i = FIDO; i < LIBRARIES; i++) fprintf(log, "live %s %ld\n", library_names[i], counts[i]);
  fclose(log);
}
