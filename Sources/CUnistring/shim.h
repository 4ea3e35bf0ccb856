// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CUNISTRING_SHIM_H
#define CUNISTRING_SHIM_H
#include <stdlib.h>
#include <string.h>
#include <uninorm.h>

/* Normalisation Form C of UTF-8 text, into a buffer of *length bytes; *length is the result's afterwards. 0 when it does
   not fit or the text is no UTF-8. UNINORM_NFC is a macro that does not reach Swift. */
static inline int cunistring_nfc(const void *text, size_t count, void *out, size_t *length) {
  uint8_t *result = u8_normalize(UNINORM_NFC, (const uint8_t *)text, count, (uint8_t *)out, length);
  if (result == (uint8_t *)out) return 1;
  /* It did not fit, so the library has made a copy of its own. */
  if (result) {
    explicit_bzero(result, *length);
    free(result);
  }
  return 0;
}

#endif
