// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

#ifndef CCRYPTO_SHIM_H
#define CCRYPTO_SHIM_H
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros that Swift does not import.
static const int ccrypto_EVP_PKEY_PUBLIC_KEY = EVP_PKEY_PUBLIC_KEY;
static const int ccrypto_EVP_PKEY_KEYPAIR = EVP_PKEY_KEYPAIR;
static inline void ccrypto_OPENSSL_free(void *p) { OPENSSL_free(p); }
static inline void ccrypto_OPENSSL_cleanse(void *p, size_t n) { OPENSSL_cleanse(p, n); }
#endif
