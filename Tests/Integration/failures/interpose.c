/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

/* Preloaded before a program: lets the n-th call of one C function fail, and counts calls and what is left allocated.
 *
 *   SEALKEY_FAIL=EVP_DigestVerify:3   the third call of it fails; the function itself is not called
 *   SEALKEY_FAIL=malloc:17            the 17th allocation by libfido2, libcrypto or libcbor gives NULL
 *   SEALKEY_FAIL_LOG=FILE             at the end: "calls NAME COUNT" and "live LIBRARY BLOCKS" are appended to FILE
 *
 * Only calls from C libraries are refused memory: Swift's own allocations end the process by design.
 * functions.h is made by failures.sh: F(name, what the function returns when it fails). All take integers or pointers.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
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

static int note_library(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  (void)context;
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

static size_t place(void *block) { return (((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 46) % PLACES; }

static void keep(void *block, enum library owner) {
  if (!block || owner == NONE) return;
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

static int refuses_memory(enum library owner) {
  if (owner == NONE) return 0;
  long call = ++allocations;
  return call == chosen_call && strcmp(chosen, "malloc") == 0;
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
  const char *wish = getenv("SEALKEY_FAIL");
  const char *colon = wish ? strchr(wish, ':') : NULL;
  if (colon && (size_t)(colon - wish) < sizeof chosen) {
    memcpy(chosen, wish, colon - wish);
    chosen_call = atol(colon + 1);
  }
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("SEALKEY_FAIL_LOG");
  FILE *log = path ? fopen(path, "ae") : NULL;
  if (!log) return;
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (functions[i]->calls) fprintf(log, "calls %s %ld\n", functions[i]->name, functions[i]->calls);
  fprintf(log, "calls malloc %ld\n", allocations);
  for (int i = FIDO; i < LIBRARIES; i++) fprintf(log, "live %s %ld\n", library_names[i], counts[i]);
  fclose(log);
}
