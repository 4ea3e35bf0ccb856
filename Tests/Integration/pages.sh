#!/usr/bin/env bash
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# The pages that sealkey writes, in a headless Chromium: a phone, a desktop, in print; and before an HTML validator. The
# pictures stay in .build/pages. With SEALKEY_METADATA, the atlas is that of the real metadata.
set -euo pipefail
cd "$(dirname "$0")/../.."

sealkey=${SEALKEY:-$PWD/.build/debug/sealkey}
out=$PWD/.build/pages
rm -rf "$out"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/runs"

for model in virtual u2f no-hmac-secret padded-signature falling-counter; do
  # Some models fail somewhere: that is what is shown.
  "$sealkey" matrix run --key "virtual:$model" --data-dir "$work/$model" --runs "$work/runs" --practice "$work/practice" \
    --tester 'A. Tester' --quiet >"$work/said" || [ $? = 1 ] || { cat "$work/said"; exit 1; }
done
"$sealkey" matrix report --runs "$work/runs" --practice "$work/practice" --out "$out/matrix.html" --quiet
"$sealkey" matrix report --runs "$work/runs" --practice "$work/none" --out "$out/empty.html" --quiet
metadata=${SEALKEY_METADATA:-}
if [ -z "$metadata" ]; then
  metadata=$work/metadata.json
  # Three made-up models.
  python3 - >"$metadata" <<'PY'
import json
def model(number, name, status, **info):
    return {"aaguid": f"00000000-0000-0000-0000-{number:012}", "statusReports": [{"status": status}],
            "metadataStatement": {"description": name, "authenticatorGetInfo":
                {"versions": ["FIDO_2_0"], "aaguid": f"{number:032}", **info}}}
pin = {"rk": True, "up": True, "clientPin": False, "pinUvAuthToken": True}
print(json.dumps({"no": 1, "nextUpdate": "2999-01-01", "entries": [
    model(1, "Made-up Key & Co <one>", "FIDO_CERTIFIED", extensions=["hmac-secret"], options=pin, pinUvAuthProtocols=[2, 1],
          maxCredentialCountInList=8, maxCredentialIdLength=128, maxMsgSize=1200),
    model(2, "Made-up Key that always verifies", "REVOKED", options={**pin, "alwaysUv": True}, pinUvAuthProtocols=[2]),
    model(3, "Made-up Key without ES256", "NOT_FIDO_CERTIFIED", algorithms=[{"type": "public-key", "alg": -257}]),
]}))
PY
fi
"$sealkey" matrix atlas --metadata "$metadata" --expired-ok --out "$work/ATLAS.md" --page "$out/atlas.html" --quiet

for page in "$out"/*.html; do
  tidy -q -e "$page" || { echo "FAILED: the validator does not take $(basename "$page")"; exit 1; }
  if grep -nE '(src|href)="?https?:|@import|url\(' "$page"; then
    echo "FAILED: $(basename "$page") points outside"
    exit 1
  fi
  echo "ok: $(basename "$page") passes the validator and points nowhere outside"
done
python3 -B Tests/Integration/python/pages.py "$out" "$out"/*.html
echo "Pictures: $out"
