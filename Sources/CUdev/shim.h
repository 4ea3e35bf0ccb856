// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CUDEV_SHIM_H
#define CUDEV_SHIM_H
#include <libudev.h>
// Not in Glibc's module map.
#include <sys/eventfd.h>
#include <sys/file.h>
#endif
