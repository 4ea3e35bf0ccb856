// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CGETOPT_SHIM_H
#define CGETOPT_SHIM_H
#include <getopt.h>
#include <stddef.h>

// getopt's state is in C globals, which Swift 6 rightly refuses to touch.
static inline void cgetopt_reset(void) { optind = 0; opterr = 0; optopt = 0; }
static inline int cgetopt_next(int argc, char **argv, const char *shorts, const struct option *longs) {
  return getopt_long(argc, argv, shorts, longs, NULL);
}
static inline const char *cgetopt_argument(void) { return optarg; }
static inline int cgetopt_index(void) { return optind; }
static inline int cgetopt_culprit(void) { return optopt; }
#endif
