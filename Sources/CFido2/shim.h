// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CFIDO2_SHIM_H
#define CFIDO2_SHIM_H
#include <fido.h>
#include <fido/bio.h>
#include <fido/config.h>
#include <fido/credman.h>
#include <fido/es256.h>
#endif
