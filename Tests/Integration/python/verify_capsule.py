# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
"""A second verifier of capsules: written from the description of the format, sharing no line with the package.

    verify_capsule.py FILE
    verify_capsule.py FILE --compare VERDICTS

The first prints one line for each check and exits 0 when all are good, 1 when one is bad or the file does not read.
The second takes lines `OFFSET MASK good|bad`: for each, the byte at OFFSET is changed by MASK, and the verdict must be
the same here.
"""

import base64
import hashlib
import json
import re
import struct
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor

RP_ID = "sealmessenger.com"
OWNER_KINDS = {
    "estateCreated", "epochPublished", "policyChanged", "vaultUpdated", "heartbeat", "cancellation", "ownerDeparted",
}
HOLDER_KINDS = {
    "silenceObserved", "releaseClaimed", "objection", "objectionWithdrawn", "authorization", "released",
    "custodyConfirmed",
}


class Bad(Exception):
    """What is wrong with the file."""


def sha256(data):
    return hashlib.sha256(data).digest()


def framed(domain, *fields):
    return sha256(domain.encode() + b"".join(struct.pack(">I", len(f)) + f for f in fields))


# JSON that means one thing only.

def members_once(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Bad("a member comes twice")
    return dict(pairs)


def no_constant(name):
    raise Bad(f"{name} is not JSON")


def parse(data):
    try:
        if data.startswith(b"\xef\xbb\xbf"):
            raise Bad("a byte-order mark")
        value = json.loads(data.decode("utf-8"), object_pairs_hook=members_once, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise Bad(f"not JSON: {error}") from None
    reject_half_surrogates(value)
    return value


def reject_half_surrogates(value):
    if isinstance(value, str):
        if any(0xD800 <= ord(c) <= 0xDFFF for c in value):
            raise Bad("half of a surrogate pair")
    elif isinstance(value, list):
        for element in value:
            reject_half_surrogates(element)
    elif isinstance(value, dict):
        for name, element in value.items():
            reject_half_surrogates(name)
            reject_half_surrogates(element)


def obj(value):
    if not isinstance(value, dict):
        raise Bad("not an object")
    return value


def member(holder, name, optional=False):
    value = obj(holder).get(name)
    if value is None and not optional:
        raise Bad(f"{name} is missing")
    return value


def text(holder, name):
    value = member(holder, name)
    if not isinstance(value, str):
        raise Bad(f"{name} is not text")
    return value


def integer(holder, name, low=-(2**63), high=2**63 - 1):
    value = member(holder, name)
    if type(value) is not int or not low <= value <= high:
        raise Bad(f"{name} is not a whole number")
    return value


def unsigned(holder, name):
    return integer(holder, name, 0, 2**64 - 1)


def flag(holder, name):
    value = member(holder, name)
    if type(value) is not bool:
        raise Bad(f"{name} is neither true nor false")
    return value


def array(holder, name):
    value = member(holder, name)
    if not isinstance(value, list):
        raise Bad(f"{name} is not an array")
    return value


def unbase64(value):
    if not isinstance(value, str):
        raise Bad("base64 that is not text")
    try:
        data = base64.b64decode(value, validate=True)
    except ValueError:
        raise Bad("not base64") from None
    if base64.b64encode(data).decode() != value:
        raise Bad("base64 in another form")
    return data


def b64(holder, name, count=None):
    data = unbase64(member(holder, name))
    if count is not None and len(data) != count:
        raise Bad(f"{name} has {len(data)} bytes")
    return data


def unhex(holder, name, count=None):
    value = text(holder, name)
    if not re.fullmatch(r"(?:[0-9a-f]{2})*", value):
        raise Bad(f"{name} is not lowercase hexadecimal")
    data = bytes.fromhex(value)
    if count is not None and len(data) != count:
        raise Bad(f"{name} has {len(data)} bytes")
    return data


# Signatures.

def root_key(raw):
    if len(raw) != 64:
        raise Bad("a root key has a wrong length")
    return device_key(b"\x04" + raw)


def device_key(raw):
    if len(raw) != 65 or raw[0] != 4:
        raise Bad("a device key has a wrong form")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), raw)
    except ValueError:
        raise Bad("a key is not a point of the curve") from None


def is_signed(key, signature, message):
    try:
        key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        return True
    except InvalidSignature:
        return False


def check_tap(assertion, key, commitment):
    """A tap on a commitment: signature, context and challenge."""
    data, client, signature = assertion
    if not is_signed(key, signature, data + sha256(client)):
        raise Bad("the key did not sign the tap")
    if len(data) < 37 or data[:32] != sha256(RP_ID.encode()):
        raise Bad("the tap is for another relying party")
    flags = data[32]
    if not flags & 0x01:
        raise Bad("the key was not touched")
    if flags & 0x10 and not flags & 0x08:
        raise Bad("backed up, and cannot be")
    if flags & 0x40:
        raise Bad("a tap that carries a credential")
    rest = data[37:]
    if flags & 0x80:
        # Extensions: one CBOR map and nothing after it. A sponsored key's endorsement has them (hmac-secret).
        try:
            extensions, rest = cbor.decode_from(rest)
        except Exception:
            raise Bad("extensions that are not CBOR") from None
        if not isinstance(extensions, dict):
            raise Bad("extensions that are not a map")
    if rest:
        raise Bad("bytes after the authenticator data")
    said = obj(parse(client))
    if text(said, "type") != "webauthn.get":
        raise Bad("the client data is of another type")
    for name in ("origin", "topOrigin"):
        if said.get(name) is not None and not isinstance(said[name], str):
            raise Bad(f"{name} is not text")
    if said.get("crossOrigin") is not None and type(said["crossOrigin"]) is not bool:
        raise Bad("crossOrigin is neither true nor false")
    if text(said, "challenge") != base64.urlsafe_b64encode(commitment).rstrip(b"=").decode():
        raise Bad("the tap is for another challenge")


def nested_assertion(body):
    inner = member(body, "assertion")
    b64(inner, "credentialID")
    return b64(inner, "authenticatorData"), b64(inner, "clientDataJSON"), b64(inner, "signature")


def check_envelopes(holder, name):
    for envelope in array(holder, name):
        text(envelope, "suite")
        b64(envelope, "ephemeralPublicKey")
        b64(envelope, "ciphertext")
        if member(envelope, "mlkemCiphertext", optional=True) is not None:
            b64(envelope, "mlkemCiphertext")


def read_policy(holder):
    policy = member(holder, "policy")
    for name in ("silenceDays", "warningDays", "graceDays", "threshold"):
        integer(policy, name)
    if text(policy, "objectionBehavior") not in ("pause", "veto"):
        raise Bad("an unknown behaviour on objections")
    if member(policy, "custodyConfirmMonths", optional=True) is not None:
        integer(policy, "custodyConfirmMonths")


def read_epoch(body):
    return {
        "epoch": unsigned(body, "epoch"), "threshold": integer(body, "threshold"),
        "holders": [h if isinstance(h, str) else no_constant("holder") for h in array(body, "custodianHashes")],
        "keys": [unbase64(k) for k in array(body, "custodianPublicKeys")],
        "commitments": [unbase64(c) for c in array(body, "shareCommitments")],
        "key": b64(body, "estateKeyCommitment"), "material": b64(body, "materialDigest"),
    }


# The file.

class Capsule:
    def __init__(self, data):
        top = obj(parse(data))
        if top.get("format") != "seal.capsule":
            raise Bad("not a capsule")
        if integer(top, "version") != 1:
            raise Bad("an unknown version")
        self.relying_party = text(top, "relyingPartyID")
        integer(top, "exportedAtEpoch")
        text(top, "exportedBy")
        if member(top, "stateAtExport", optional=True) is not None:
            text(top, "stateAtExport")
        if "simulated" in top:
            flag(top, "simulated")
        self.estate, self.owner = text(top, "estateID"), text(top, "ownerHash")
        self.identities = {h: self.identity(i) for h, i in obj(member(top, "identities")).items()}
        self.events = [self.event(e) for e in array(top, "events")]
        self.material = {n: unbase64(b) for n, b in obj(member(top, "epochBlobsBase64")).items()}
        for name in ("tableBlobsBase64", "contentBlobsBase64"):
            for blob in obj(member(top, name)).values():
                unbase64(blob)

    @staticmethod
    def identity(value):
        unhex(value, "rootHash", 32)
        text(value, "displayName")
        text(value, "tier")
        devices = []
        for endorsement in array(value, "deviceEndorsements"):
            integer(endorsement, "createdAtEpoch")
            assertion = member(endorsement, "assertion")
            devices.append((
                unhex(endorsement, "devicePublicKeyHex", 65), unhex(endorsement, "kemBundleHex"),
                (unhex(assertion, "authenticatorDataHex"), b64(assertion, "clientDataJSONBase64"),
                 unhex(assertion, "signatureHex")),
                unhex(assertion, "credentialIDHex"),
            ))
        return {"hash": value["rootHash"], "key": unhex(value, "publicKeyHex", 64), "devices": devices}

    @staticmethod
    def event(value):
        event = {n: text(value, n) for n in ("id", "estateID", "kind", "actorHash")}
        event["device"] = unhex(value, "actorDevicePublicKeyHex")
        event["at"] = integer(value, "occurredAtEpoch")
        event["previous"] = unhex(value, "previousDigestHex")
        event["payload"] = b64(value, "payloadBase64")
        event["signature"] = unhex(value, "signatureHex")
        event["stated"] = unhex(value, "digestHex")
        if member(value, "timestampTokenBase64", optional=True) is not None:
            b64(value, "timestampTokenBase64")
        event["digest"] = framed(
            "seal.estate.event.v1", *(event[n].encode() for n in ("id", "estateID", "kind", "actorHash")),
            event["device"], str(event["at"]).encode(), event["previous"], event["payload"])
        return event


class Verifier:
    """Checks a capsule; every problem is kept, none stops the others."""

    def __init__(self, capsule):
        self.capsule = capsule
        self.lines = []
        self.failures = 0
        self.roots, self.devices, self.statements = {}, {}, []
        self.claims, self.holders = {}, set()

    def good(self, line):
        self.lines.append(f"ok   {line}")

    def bad(self, line):
        self.failures += 1
        self.lines.append(f"BAD  {line}")

    def attempt(self, line, check):
        try:
            check()
            self.good(line)
            return True
        except Bad as problem:
            self.bad(f"{line}: {problem}")
            return False

    def run(self):
        capsule = self.capsule
        if capsule.relying_party != RP_ID:
            self.bad("the relying party")
        for name, identity in capsule.identities.items():
            self.identity(name, identity)
        if capsule.owner not in capsule.identities:
            self.bad("the owner is missing")
        self.events()
        self.epochs()
        if not self.failures:
            self.good(f"{len(capsule.events)} events")
        return self.failures == 0

    def identity(self, name, identity):
        if identity["hash"] != name:
            return self.bad(f"identity {name[:8]} stands under another hash")
        try:
            root = root_key(identity["key"])
        except Bad as problem:
            return self.bad(f"identity {name[:8]}: {problem}")
        self.roots[name], self.devices[name] = root, set()
        for device, bundle, assertion, credential in identity["devices"]:
            label = f"{name[:8]} endorses {device[1:5].hex()}"

            def check():
                device_key(device)
                try:
                    check_tap(assertion, root, framed("seal.endorse.v3", device, bundle))
                except Bad:
                    if len(bundle) != 32:
                        raise
                    check_tap(assertion, root, sha256(b"seal.endorse.v2" + device + bundle))

            if self.attempt(label, check):
                self.devices[name].add(device)
                # Nothing signs it; the root is known by its hash.
                if sha256(credential).hex() != name:
                    self.bad(f"{label}: the credential ID is another's")
        return None

    def events(self):
        capsule = self.capsule
        known = {e["digest"] for e in capsule.events}
        if len({e["id"] for e in capsule.events}) != len(capsule.events):
            self.bad("an event comes twice")
        created = False
        for event in sorted(capsule.events, key=lambda e: (e["at"], e["id"].encode())):
            label = f"{event['kind']} {event['id'][:8]}"
            if self.attempt(label, lambda: self.event(event, known)):
                created = created or event["kind"] == "estateCreated"
        if not created:
            self.bad("the owner never created the estate")
        for claim, count in self.claims.items():
            if count > 1:
                self.bad(f"claim {claim[:8]} was opened {count} times")

    def event(self, event, known):
        actor, kind = event["actorHash"], event["kind"]
        if event["estateID"] != self.capsule.estate:
            raise Bad("of another estate")
        if event["stated"] != event["digest"]:
            raise Bad("another digest")
        if not is_signed(device_key(event["device"]), event["signature"], event["digest"]):
            raise Bad("the device did not sign it")
        if event["device"] not in self.devices.get(actor, set()):
            raise Bad("the device is not the writer's")
        if actor == self.capsule.owner:
            if kind not in OWNER_KINDS:
                raise Bad("the owner may not write this")
        elif kind not in HOLDER_KINDS or actor not in self.holders:
            raise Bad("the writer may not write this")
        if event["previous"] and event["previous"] not in known:
            raise Bad("what it follows is missing")
        if kind != "heartbeat":
            self.body(event, obj(parse(event["payload"])))

    def body(self, event, body):
        kind, estate = event["kind"], self.capsule.estate.encode()
        if kind == "estateCreated":
            read_policy(body)
            integer(body, "createdAtEpoch")
        elif kind == "policyChanged":
            read_policy(body)
        elif kind == "epochPublished":
            statement = read_epoch(body)
            self.statements.append(statement)
            self.holders = set(statement["holders"])
        elif kind == "vaultUpdated":
            b64(body, "blobCommitment")
            if not all(isinstance(t, str) for t in array(body, "tableIDs")):
                raise Bad("a table's name is not text")
        elif kind == "cancellation":
            if member(body, "claimID", optional=True) is not None:
                text(body, "claimID")
        elif kind == "ownerDeparted":
            flag(body, "keepEnvelopes")
            integer(body, "departedAtEpoch")
        elif kind == "silenceObserved":
            if member(body, "lastHeartbeatDigest", optional=True) is not None:
                b64(body, "lastHeartbeatDigest")
            if member(body, "lastHeartbeatAtEpoch", optional=True) is not None:
                integer(body, "lastHeartbeatAtEpoch")
        elif kind == "releaseClaimed":
            claim = text(body, "claimID")
            unsigned(body, "epoch")
            text(body, "reason")
            if member(body, "lastHeartbeatAtEpoch", optional=True) is not None:
                integer(body, "lastHeartbeatAtEpoch")
            self.claims[claim] = self.claims.get(claim, 0) + 1
        elif kind in ("objection", "objectionWithdrawn"):
            text(body, "claimID")
            flag(body, "withdrawn")
            text(body, "note")
        elif kind in ("authorization", "custodyConfirmed"):
            epoch, head = str(unsigned(body, "epoch")).encode(), b64(body, "recordHeadDigest")
            if len(head) not in (0, 32):
                raise Bad("a head of a wrong length")
            if kind == "authorization":
                check_envelopes(body, "shareForClaimant")
                commitment = framed("seal.release.authorize.v1", estate, epoch, text(body, "claimID").encode(), head)
            else:
                commitment = framed("seal.custody.confirm.v1", estate, epoch, head)
            check_tap(nested_assertion(body), self.roots[event["actorHash"]], commitment)
        elif kind == "released":
            text(body, "claimID")
            epoch, key = unsigned(body, "epoch"), b64(body, "estateKey")
            for index in array(body, "shareIndexes"):
                if type(index) is not int or not 0 <= index <= 255:
                    raise Bad("a share's index")
            if not any(s["epoch"] == epoch and s["key"] == sha256(key) for s in self.statements):
                raise Bad("the key is not the one the owner committed to")

    def epochs(self):
        for statement in self.statements:
            self.attempt(f"epoch {statement['epoch']}", lambda: self.epoch(statement))
        if self.statements and self.statements[-1]["epoch"] != max(s["epoch"] for s in self.statements):
            self.bad("the newest epoch is not the highest")

    def epoch(self, statement):
        holders, count = statement["holders"], len(statement["holders"])
        if not count or len(set(holders)) != count or not 1 <= statement["threshold"] <= count:
            raise Bad("holders and threshold do not fit")
        if len(statement["keys"]) != count or len(statement["commitments"]) != count:
            raise Bad("not one key and one share for each holder")
        if any(not re.fullmatch(r"[0-9a-f]{64}", h) for h in holders):
            raise Bad("a holder is not named by a root hash")
        if any(len(h) != 32 for h in statement["commitments"] + [statement["key"], statement["material"]]):
            raise Bad("a commitment's length")
        for holder, key in zip(holders, statement["keys"]):
            root_key(key)
            if holder in self.capsule.identities and self.capsule.identities[holder]["key"] != key:
                raise Bad("a holder's root key is another")
        blob = self.capsule.material.get(str(statement["epoch"]))
        if blob is None:
            raise Bad("no material")
        if sha256(blob) != statement["material"]:
            raise Bad("other material")
        material = obj(parse(blob))
        if (text(material, "estateID"), unsigned(material, "epoch")) != (self.capsule.estate, statement["epoch"]):
            raise Bad("material of another estate or epoch")
        if integer(material, "threshold") != statement["threshold"]:
            raise Bad("another threshold")
        if b64(material, "estateKeyCommitment") != statement["key"]:
            raise Bad("another key")
        check_envelopes(material, "ownerWraps")
        shares = array(material, "custodianShares")
        for share in shares:
            check_envelopes(share, "envelopes")
        if [text(s, "custodianHash") for s in shares] != holders:
            raise Bad("other holders")
        if [b64(s, "commitment") for s in shares] != statement["commitments"]:
            raise Bad("other shares")
        if [unsigned(s, "shareIndex") for s in shares] != list(range(1, count + 1)):
            raise Bad("shares in another order")


def verdict(data):
    """Whether the bytes are a good capsule, and a line for each check."""
    try:
        verifier = Verifier(Capsule(data))
        return verifier.run(), verifier.lines
    except Bad as problem:
        return False, [f"BAD  the file: {problem}"]


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    if "--compare" not in sys.argv:
        is_good, lines = verdict(data)
        print("\n".join(lines))
        sys.exit(0 if is_good else 1)
    if not verdict(data)[0]:
        sys.exit("the unchanged file is not good")
    different, compared = 0, 0
    changed = bytearray(data)
    with open(sys.argv[sys.argv.index("--compare") + 1], encoding="ascii") as file:
        for line in file:
            offset, mask, expected = line.split()
            offset, mask = int(offset), int(mask)
            changed[offset] ^= mask
            is_good, lines = verdict(bytes(changed))
            changed[offset] ^= mask
            compared += 1
            if is_good != (expected == "good"):
                different += 1
                why = [found for found in lines if found.startswith("BAD")][:2]
                around = data[max(0, offset - 30):offset + 30]
                print(f"byte {offset} changed by {mask}: {'good' if is_good else 'bad'} here, {expected} there;"
                      f" {why}; {around!r}")
    print(f"{compared} verdicts compared, {different} differ")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
