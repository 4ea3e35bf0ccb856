// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CPROCESS_SHIM_H
#define CPROCESS_SHIM_H

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* prctl and ioctl take variable arguments and the limits are an enum behind macros: neither reaches Swift. */

/* No core dumps, and nobody but root in this process's memory. */
static inline void cprocess_keep_private(void) {
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* As much locked memory as is allowed. */
static inline void cprocess_raise_locked_memory(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
  }
}

/* Columns of a terminal; 0 when it does not say. */
static inline int cprocess_columns(int descriptor) {
  struct winsize size;
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Raises the number of descriptors that may be open to what is allowed, 1024 at most. */
static inline void cprocess_raise_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1024) {
    limit.rlim_cur = limit.rlim_max < 1024 ? limit.rlim_max : 1024;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

#endif
