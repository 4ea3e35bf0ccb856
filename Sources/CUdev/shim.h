// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CUDEV_SHIM_H
#define CUDEV_SHIM_H
#include <libudev.h>
// Not in Glibc's module map.
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/timex.h>
#include <sys/xattr.h>

/* Bytes that may be locked in memory. The limits are an enum behind macros that does not reach Swift. */
static inline unsigned long cudev_locked_memory(void) {
  struct rlimit limit = {0, 0};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  return limit.rlim_cur;
}

/* The kernel's word on its clock, adjtimex(2); negative when it gives none. TIME_ERROR, 5, is a clock that nobody keeps. */
static inline int cudev_clock_state(void) {
  struct timex clock = {0};
  return adjtimex(&clock);
}

#endif
