#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Lets every call of libfido2, libcrypto and libcbor on the ceremonies' paths fail once, and the allocations of those
# libraries, one at each place in the code that allocates (places are told apart by the seven innermost calls): each time an
# error with a name or the whole result, no trap, nothing left allocated, no PIN try spent, and a key that does the next
# command. SEALKEY_FAILURES=N tries at most N calls of each function (default: all), SEALKEY_FAILURE_SCENES=register,tap
# some of the ceremonies only.
set -euo pipefail
cd "$(dirname "$0")/../.."
sealkey=${SEALKEY:-$PWD/.build/debug/sealkey}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

libraries=$(ldd "$sealkey" | awk '/lib(fido2|crypto|cbor)\.so/ { print $3 }')
fido2=$(grep libfido2 <<<"$libraries")
# Functions that one side calls and the other has.
{ nm -D --undefined-only "$sealkey" && nm -D --undefined-only "$fido2"; } | awk '{ print $2 }' | sed 's/@.*//' |
  sort -u >"$work/wanted"
# shellcheck disable=SC2086
nm -D --defined-only $libraries | awk 'NF == 3 && $2 == "T" { print $3 }' | sed 's/@.*//' | sort -u >"$work/there"
# What cannot fail is left alone: freeing, wiping, comparing, looking at a field, constants, and what gives a structure.
cannot='(_|\b)free$|^ERR_|_cleanse$|_memcmp$|^BN_CTX_(start|end)$|^BN_(is_zero|cmp|num_bits)$|_get0_|_get_base_id$|_is_a$'
cannot+='|^EVP_(sha|aes)|^OSSL_PARAM_construct|^RSA_bits$|^X509_(get_|NAME_|EXTENSION_|STORE_CTX_(set|get)|check_purpose)'
cannot+='|_error_string$|^ASN1_STRING_(get0_data|length)$|^OBJ_obj2txt$|^cbor_.*(handle|definite|size|length|width)$'
cannot+='|^cbor_(isa?_|get_|ctrl_|float_|decref|empty_callbacks|stream_decode)|^fido_init$|^fido_dev_(close|io_handle)$'
cannot+='|^fido_set_log_handler$|^fido_.*_(count|name|remaining|existing|last_status)$|^EVP_MD_meth_'
comm -12 "$work/wanted" "$work/there" | grep -vE "$cannot" | awk '
  /^ASN1_get_object$/ { print "F(" $0 ", 0x80)"; next }
  /^(EVP_Cipher|ASN1_STRING_to_UTF8|BN_bn2binpad)$/ { print "F(" $0 ", -1)"; next }
  /^fido_.*(_new|_ptr|_len)$/ { print "F(" $0 ", 0)"; next }
  /^fido_/ { print "F(" $0 ", -9)"; next }
  { print "F(" $0 ", 0)" }' >"$work/functions.h"
cc=$(command -v cc || command -v clang)
"$cc" -shared -fPIC -O1 -w -I "$work" -o "$work/interpose.so" Tests/Integration/failures/interpose.c -ldl -lpthread
echo "$(grep -c . "$work/functions.h") functions that can fail"
exec python3 Tests/Integration/python/failures.py "$sealkey" "$work/interpose.so" "$work"
