// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

// libFuzzer brings its own main; this is all that it asks for.

#include <stddef.h>
#include <stdint.h>

void sealkey_fuzz_begin(void);
void sealkey_fuzz_one(const uint8_t *bytes, long count);

int LLVMFuzzerInitialize(int *count, char ***arguments) {
  (void)count;
  (void)arguments;
  sealkey_fuzz_begin();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  sealkey_fuzz_one(bytes, (long)count);
  return 0;
}
