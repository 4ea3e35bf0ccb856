# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
"""Checks the demo's three files with other people's code only: python fido2 and cryptography.

    verify_artefacts.py FOLDER

Every commitment is built again here, from the fields, without a line of the package. Prints one line a check and `N checks passed`.
"""

import base64
import hashlib
import json
import struct
import sys

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.attestation import Attestation
from fido2.cose import ES256
from fido2.webauthn import AttestationObject, AuthenticatorData, CollectedClientData

RP_ID = "sealmessenger.com"
ORIGIN = "https://sealmessenger.com"
done = 0


def check(what, good):
    global done
    if not good:
        sys.exit(f"FAILED: {what}")
    print(f"ok: {what}")
    done += 1


def framed(*fields):
    return b"".join(struct.pack(">I", len(f)) + f for f in fields)


def load(name):
    with open(f"{sys.argv[1]}/{name}.json", encoding="utf-8") as f:
        return json.load(f)


def check_tap(name, assertion, public_key, preimage):
    data = base64.b64decode(assertion["authenticatorData"], validate=True)
    client = base64.b64decode(assertion["clientDataJSON"], validate=True)
    signature = base64.b64decode(assertion["signature"], validate=True)
    parsed = AuthenticatorData(data)
    check(f"{name}: relying party", parsed.rp_id_hash == hashlib.sha256(RP_ID.encode()).digest())
    check(f"{name}: the key was touched", parsed.is_user_present())
    collected = CollectedClientData(client)
    check(f"{name}: type", collected.type == "webauthn.get")
    check(f"{name}: origin", collected.origin == ORIGIN)
    check(f"{name}: challenge is the commitment", collected.challenge == hashlib.sha256(preimage).digest())
    point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\x04" + public_key)
    point.verify(signature, data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
    check(f"{name}: signature, by cryptography", True)
    ES256.from_cryptography_key(point).verify(data + hashlib.sha256(client).digest(), signature)
    check(f"{name}: signature, by fido2", True)


identity, endorsement, tap = load("identity"), load("endorsement"), load("tap")
for name, file in (("identity", identity), ("endorsement", endorsement), ("tap", tap)):
    check(f"{name}: marked simulated", file["simulated"] is True)

evidence = identity["evidence"]
attestation = AttestationObject(bytes.fromhex(evidence["attestationObjectHex"]))
client = CollectedClientData(bytes.fromhex(evidence["registrationClientDataHex"]))
root = base64.b64decode(identity["seal"]["publicKey"], validate=True)
credential = attestation.auth_data.credential_data
check("identity: relying party", attestation.auth_data.rp_id_hash == hashlib.sha256(RP_ID.encode()).digest())
check("identity: type", client.type == "webauthn.create")
check("identity: challenge", client.challenge == bytes.fromhex(evidence["registrationChallengeHex"]))
check("identity: public key", credential.public_key[-2] + credential.public_key[-3] == root)
check("identity: algorithm", credential.public_key[3] == -7)
check("identity: credential ID", credential.credential_id.hex() == evidence["credentialIDHex"])
Attestation.for_type(attestation.fmt)().verify(attestation.att_stmt, attestation.auth_data, client.hash)
check(f"identity: attestation statement {attestation.fmt}", True)

# What stands beside Seal's own JSON must say the same.
for name, file in (("identity", identity), ("endorsement", endorsement), ("tap", tap)):
    check(f"{name}: evidence, root key", file["evidence"]["rootPublicKeyHex"] == root.hex())
    check(f"{name}: evidence, credential ID", file["evidence"]["credentialIDHex"] == credential.credential_id.hex())
check("identity: credential ID in the record",
      base64.b64decode(identity["seal"]["credentialID"], validate=True) == credential.credential_id)

seal = endorsement["seal"]
device = base64.b64decode(seal["devicePublicKey"], validate=True)
bundle = base64.b64decode(seal["kemBundlePublicKeys"], validate=True)
check("endorsement: device key", len(device) == 65 and len(bundle) in (32, 1220))
check("endorsement: evidence, statement", endorsement["evidence"]["statement"] == {
    "name": "endorse.v3", "fields": {"devicePublicKey": device.hex(), "kemBundle": bundle.hex()}})
inner = json.loads(base64.b64decode(seal["assertion"], validate=True))
for name, assertion in (("endorsement", inner), ("tap", tap["seal"])):
    check(f"{name}: credential ID beside the signature",
          base64.b64decode(assertion["credentialID"], validate=True) == credential.credential_id)
check_tap(
    "endorsement",
    inner,
    root,
    b"seal.endorse.v3" + framed(device, bundle),
)

terms = tap["evidence"]["statement"]
terms = terms.get("fields", terms)
check_tap(
    "tap",
    tap["seal"],
    root,
    b"seal.release.authorize.v1"
    + framed(
        terms["estateID"].encode(),
        str(terms["epoch"]).encode(),
        terms["claimID"].encode(),
        bytes.fromhex(terms["recordHeadDigest"]),
    ),
)
print(f"{done} checks passed")
