# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""An independent client against the virtual key: client.py WIRE SCENARIO.

The wire is a UDP port, a hidraw node, or pcsc for the first PC/SC reader with a key on it.

Every scenario starts with a key fresh from the factory. It ends 0 and prints `passed` when everything was as the
standard says, and else names what was not.
"""

import hashlib
import os
import sys

from fido2.cose import CoseKey
from fido2.ctap import CtapError
from fido2.ctap1 import APDU, ApduError, Ctap1
from fido2.ctap2 import (
    Config,
    CredentialManagement,
    Ctap2,
    FPBioEnrollment,
    LargeBlobs,
)
from fido2.ctap2.pin import ClientPin, PinProtocolV1, PinProtocolV2
from fido2.webauthn import Aaguid

from wire import open_key

VIRTUAL_AAGUID = b"sealkey-virtual!"
RP = {"id": "example.org", "name": "Example"}
ES256 = [{"type": "public-key", "alg": -7}]
PIN = "2580-pin"


def user(n=1):
    return {"id": b"user-%d" % n, "name": "user%d@example.org" % n, "displayName": "User %d" % n}


def client_data_hash():
    return os.urandom(32)


def expect(code, action, *arguments, **keywords):
    """The action must fail with that CTAP status."""
    try:
        action(*arguments, **keywords)
    except CtapError as error:
        assert error.code == code, "expected %r, got %r" % (code, error)
        return
    raise AssertionError("expected %r, got success" % code)


def check_registration(reply, cdh, alg=-7, up=True, uv=False):
    """Verifies an attested registration with the client's own verifier."""
    data = reply.auth_data
    assert data.rp_id_hash == hashlib.sha256(RP["id"].encode()).digest()
    assert data.is_user_present() == up and data.is_user_verified() == uv, data.flags
    assert data.credential_data.aaguid == VIRTUAL_AAGUID
    assert data.credential_data.public_key[3] == alg
    assert reply.fmt == "packed" and "x5c" in reply.att_stmt
    from fido2.attestation import PackedAttestation

    PackedAttestation().verify(reply.att_stmt, data, cdh)
    return data.credential_data


def check_assertion(reply, cdh, credential, up=True, uv=False):
    data = reply.auth_data
    assert data.is_user_present() == up and data.is_user_verified() == uv, data.flags
    assert reply.credential["id"] == credential.credential_id
    reply.verify(cdh, credential.public_key)


def allow(credential):
    return [{"type": "public-key", "id": credential.credential_id}]


def register(ctap, **keywords):
    cdh = client_data_hash()
    keywords.setdefault("key_params", ES256)
    keywords.setdefault("user", user())
    return check_registration(ctap.make_credential(cdh, RP, **keywords), cdh)


def protocols():
    return [PinProtocolV1(), PinProtocolV2()]


def token(pin_client, permissions=None, rp_id=None, pin=PIN):
    return pin_client.get_pin_token(pin, permissions, rp_id)


def hid(port):
    """The wire: INIT, PING of every interesting length, WINK, other channels."""
    key = open_key(port)
    for length in (0, 1, 56, 57, 58, 116, 117, 1024, 7608, 7609):
        if length:
            message = os.urandom(length)
            assert key.ping(message) == message
    key.wink()
    other = open_key(port)
    assert other.ping(b"x") == b"x" and key.ping(b"y") == b"y"


def info(port):
    ctap = Ctap2(open_key(port))
    assert ctap.info.aaguid == Aaguid(VIRTUAL_AAGUID)
    assert "FIDO_2_1" in ctap.info.versions
    assert ctap.info.pin_uv_protocols == [2, 1]
    assert ctap.info.options["clientPin"] is False
    ctap.selection()


def ceremonies(port):
    """makeCredential and getAssertion without a PIN, in every algorithm."""
    ctap = Ctap2(open_key(port))
    for alg in (-7, -8, -35):
        cdh = client_data_hash()
        params = [{"type": "public-key", "alg": -65000}, {"type": "public-key", "alg": alg}]
        credential = check_registration(ctap.make_credential(cdh, RP, user(), params), cdh, alg)
        cdh = client_data_hash()
        check_assertion(ctap.get_assertion(RP["id"], cdh, allow(credential)), cdh, credential)
        cdh = client_data_hash()
        reply = ctap.get_assertion(RP["id"], cdh, allow(credential), options={"up": False})
        check_assertion(reply, cdh, credential, up=False)
        expect(CtapError.ERR.NO_CREDENTIALS, ctap.get_assertion, "other.org", cdh, allow(credential))
        expect(
            CtapError.ERR.CREDENTIAL_EXCLUDED,
            ctap.make_credential,
            cdh,
            RP,
            user(),
            ES256,
            exclude_list=allow(credential),
        )
    expect(
        CtapError.ERR.UNSUPPORTED_ALGORITHM,
        ctap.make_credential,
        client_data_hash(),
        RP,
        user(),
        [{"type": "public-key", "alg": -65000}],
    )


def pin(port):
    """Both PIN protocols: set, use, get wrong, change."""
    ctap = Ctap2(open_key(port))
    client = ClientPin(ctap, PinProtocolV2())
    expect(CtapError.ERR.PIN_POLICY_VIOLATION, client.set_pin, "x" * 64)
    expect(CtapError.ERR.INVALID_PARAMETER, client.set_pin, "x" * 65)
    client.set_pin(PIN)
    ctap.get_info()
    assert Ctap2(open_key(port)).info.options["clientPin"] is True
    current = PIN
    for protocol in protocols():
        client = ClientPin(ctap, protocol)
        assert client.get_pin_retries()[0] == 8
        puat = token(client, ClientPin.PERMISSION.MAKE_CREDENTIAL, RP["id"], current)
        cdh = client_data_hash()
        reply = ctap.make_credential(
            cdh,
            RP,
            user(),
            ES256,
            pin_uv_param=protocol.authenticate(puat, cdh),
            pin_uv_protocol=protocol.VERSION,
        )
        credential = check_registration(reply, cdh, uv=True)
        # The touch has used the token up.
        expect(
            CtapError.ERR.PIN_AUTH_INVALID,
            ctap.make_credential,
            cdh,
            RP,
            user(),
            ES256,
            pin_uv_param=protocol.authenticate(puat, cdh),
            pin_uv_protocol=protocol.VERSION,
        )
        puat = token(client, ClientPin.PERMISSION.GET_ASSERTION, RP["id"], current)
        cdh = client_data_hash()
        param = protocol.authenticate(puat, cdh)
        expect(
            CtapError.ERR.PIN_AUTH_INVALID,
            ctap.get_assertion,
            "other.org",
            cdh,
            allow(credential),
            pin_uv_param=param,
            pin_uv_protocol=protocol.VERSION,
        )
        reply = ctap.get_assertion(
            RP["id"], cdh, allow(credential), pin_uv_param=param, pin_uv_protocol=protocol.VERSION
        )
        check_assertion(reply, cdh, credential, uv=True)
        # Without permissions: the way of CTAP 2.0.
        cdh = client_data_hash()
        reply = ctap.get_assertion(
            RP["id"],
            cdh,
            allow(credential),
            pin_uv_param=protocol.authenticate(token(client, pin=current), cdh),
            pin_uv_protocol=protocol.VERSION,
        )
        check_assertion(reply, cdh, credential, uv=True)
        expect(CtapError.ERR.PIN_INVALID, token, client, 1, RP["id"], "wrong")
        assert client.get_pin_retries()[0] == 7
        client.change_pin(current, current + "x")
        current += "x"
        assert client.get_pin_retries()[0] == 8


def pin_block(port):
    client = ClientPin(Ctap2(open_key(port)), PinProtocolV2())
    client.set_pin(PIN)
    expect(CtapError.ERR.PIN_INVALID, token, client, 1, RP["id"], "wrong")
    expect(CtapError.ERR.PIN_INVALID, token, client, 1, RP["id"], "wrong")
    expect(CtapError.ERR.PIN_AUTH_BLOCKED, token, client, 1, RP["id"], "wrong")
    expect(CtapError.ERR.PIN_AUTH_BLOCKED, token, client, 1, RP["id"], PIN)
    retries, power_cycle = client.get_pin_retries()
    assert retries == 5 and power_cycle, (retries, power_cycle)


def hmac_secret(port):
    """One and two salts, with and without verification, in both protocols."""
    ctap = Ctap2(open_key(port))
    cdh = client_data_hash()
    reply = ctap.make_credential(cdh, RP, user(), ES256, extensions={"hmac-secret": True})
    assert reply.auth_data.extensions == {"hmac-secret": True}
    credential = check_registration(reply, cdh)
    plain = register(ctap, user=user(2))
    ClientPin(ctap, PinProtocolV2()).set_pin(PIN)
    salt1, salt2 = b"\x01" * 32, b"\x02" * 32
    results = {}
    for protocol in protocols():
        client = ClientPin(ctap, protocol)
        for uv in (False, True):
            for salts in (salt1, salt1 + salt2):
                key_agreement, shared = client._get_shared_secret()
                salt_enc = protocol.encrypt(shared, salts)
                value = {1: key_agreement, 2: salt_enc, 3: protocol.authenticate(shared, salt_enc)}
                if protocol.VERSION != 1:
                    value[4] = protocol.VERSION
                cdh = client_data_hash()
                keywords = {}
                if uv:
                    puat = token(client, ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
                    keywords = {
                        "pin_uv_param": protocol.authenticate(puat, cdh),
                        "pin_uv_protocol": protocol.VERSION,
                    }
                # The token's commands have not changed the key agreement key: the shared secret still holds.
                reply = ctap.get_assertion(
                    RP["id"], cdh, allow(credential), extensions={"hmac-secret": value}, **keywords
                )
                check_assertion(reply, cdh, credential, uv=uv)
                output = protocol.decrypt(shared, reply.auth_data.extensions["hmac-secret"])
                assert len(output) == len(salts)
                for i in range(0, len(output), 32):
                    expected = results.setdefault((uv, i), output[i : i + 32])
                    assert output[i : i + 32] == expected
                cdh = client_data_hash()
                reply = ctap.get_assertion(RP["id"], cdh, allow(plain), extensions={"hmac-secret": value})
                assert not reply.auth_data.extensions
                expect(
                    CtapError.ERR.UNSUPPORTED_OPTION,
                    ctap.get_assertion,
                    RP["id"],
                    cdh,
                    allow(credential),
                    extensions={"hmac-secret": value},
                    options={"up": False},
                )
                value[3] = bytes(len(value[3]))
                expect(
                    CtapError.ERR.PIN_AUTH_INVALID,
                    ctap.get_assertion,
                    RP["id"],
                    cdh,
                    allow(credential),
                    extensions={"hmac-secret": value},
                )
    assert len(set(results.values())) == 4, "with and without verification must differ"


def resident(port):
    """Discoverable credentials, getNextAssertion, and their management under both command bytes."""
    ctap = Ctap2(open_key(port))
    credentials = {}
    for n in (1, 2, 3):
        cdh = client_data_hash()
        reply = ctap.make_credential(cdh, RP, user(n), ES256, options={"rk": True})
        credentials[user(n)["id"]] = check_registration(reply, cdh)
    # The same user again replaces the credential.
    cdh = client_data_hash()
    reply = ctap.make_credential(cdh, RP, user(1), ES256, options={"rk": True})
    credentials[user(1)["id"]] = check_registration(reply, cdh)

    cdh = client_data_hash()
    first = ctap.get_assertion(RP["id"], cdh)
    assert first.number_of_credentials == 3
    replies = [first, ctap.get_next_assertion(), ctap.get_next_assertion()]
    assert [r.user["id"] for r in replies] == [user(n)["id"] for n in (1, 3, 2)], "newest first"
    for reply in replies:
        assert set(reply.user) == {"id"}, "names only after verification"
        check_assertion(reply, cdh, credentials[reply.user["id"]])
    expect(CtapError.ERR.NOT_ALLOWED, ctap.get_next_assertion)
    ctap.get_assertion(RP["id"], cdh)
    ctap.get_info()
    expect(CtapError.ERR.NOT_ALLOWED, ctap.get_next_assertion)

    client = ClientPin(ctap, PinProtocolV2())
    client.set_pin(PIN)
    expect(
        CtapError.ERR.PUAT_REQUIRED,
        ctap.make_credential,
        client_data_hash(),
        RP,
        user(4),
        ES256,
        options={"rk": True},
    )
    puat = token(client, ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
    reply = ctap.get_assertion(
        RP["id"], cdh, pin_uv_param=client.protocol.authenticate(puat, cdh), pin_uv_protocol=2
    )
    assert reply.user == user(1), reply.user
    ctap = Ctap2(open_key(port))
    for protocol in protocols():
        client = ClientPin(ctap, protocol)
        puat = token(client, ClientPin.PERMISSION.CREDENTIAL_MGMT)
        management = CredentialManagement(ctap, protocol, puat)
        metadata = management.get_metadata()
        count = metadata[CredentialManagement.RESULT.EXISTING_CRED_COUNT]
        assert count + metadata[CredentialManagement.RESULT.MAX_REMAINING_COUNT] == 50
        rps = management.enumerate_rps()
        assert [rp[CredentialManagement.RESULT.RP]["id"] for rp in rps] == [RP["id"]]
        found = management.enumerate_creds(rps[0][CredentialManagement.RESULT.RP_ID_HASH])
        assert len(found) == count
        for entry in found:
            expected = credentials[entry[CredentialManagement.RESULT.USER]["id"]]
            assert CoseKey.parse(entry[CredentialManagement.RESULT.PUBLIC_KEY]) == expected.public_key
        target = found[0]
        identity = target[CredentialManagement.RESULT.USER]["id"]
        if management.is_update_supported:
            management.update_user_info(
                target[CredentialManagement.RESULT.CREDENTIAL_ID], {"id": identity, "name": "changed"}
            )
            changed = management.enumerate_creds(rps[0][CredentialManagement.RESULT.RP_ID_HASH])
            assert {"id": identity, "name": "changed"} in [e[CredentialManagement.RESULT.USER] for e in changed]
        management.delete_cred(target[CredentialManagement.RESULT.CREDENTIAL_ID])
        expect(
            CtapError.ERR.NO_CREDENTIALS,
            management.delete_cred,
            target[CredentialManagement.RESULT.CREDENTIAL_ID],
        )
        del credentials[identity]
    cdh = client_data_hash()
    assert ctap.get_assertion(RP["id"], cdh).number_of_credentials in (None, 1)


def extensions(port):
    """credProtect, credBlob, minPinLength and largeBlobKey."""
    ctap = Ctap2(open_key(port))
    client = ClientPin(ctap, PinProtocolV2())
    cdh = client_data_hash()
    reply = ctap.make_credential(
        cdh,
        RP,
        user(),
        ES256,
        options={"rk": True},
        extensions={"credProtect": 3, "credBlob": b"blob", "largeBlobKey": True, "minPinLength": True},
    )
    assert reply.auth_data.extensions == {"credProtect": 3, "credBlob": True}
    blob_key = reply.large_blob_key
    assert len(blob_key) == 32
    credential = check_registration(reply, cdh)
    expect(CtapError.ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], cdh)
    expect(CtapError.ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], cdh, allow(credential))
    client.set_pin(PIN)
    puat = token(client, ClientPin.PERMISSION.GET_ASSERTION, RP["id"])
    reply = ctap.get_assertion(
        RP["id"],
        cdh,
        extensions={"credBlob": True, "largeBlobKey": True},
        pin_uv_param=client.protocol.authenticate(puat, cdh),
        pin_uv_protocol=2,
    )
    check_assertion(reply, cdh, credential, uv=True)
    assert reply.auth_data.extensions == {"credBlob": b"blob"} and reply.large_blob_key == blob_key

    ctap = Ctap2(open_key(port))
    for protocol in protocols():
        client = ClientPin(ctap, protocol)
        blobs = LargeBlobs(ctap, protocol, token(client, ClientPin.PERMISSION.LARGE_BLOB_WRITE))
        before = blobs.get_blob(blob_key)
        blobs.put_blob(blob_key, b"protocol %d" % protocol.VERSION * 50)
        assert blobs.get_blob(blob_key) == b"protocol %d" % protocol.VERSION * 50 != before
        expect(
            CtapError.ERR.LARGE_BLOB_STORAGE_FULL, blobs.put_blob, blob_key, os.urandom(5000)
        )
        blobs.delete_blob(blob_key)
        assert blobs.get_blob(blob_key) is None


def config(port):
    """alwaysUv, minimum PIN length, forced change."""
    ctap = Ctap2(open_key(port))
    credential = register(ctap)
    client = ClientPin(ctap, PinProtocolV2())
    client.set_pin("12345")
    ctap = Ctap2(open_key(port))
    client = ClientPin(ctap, PinProtocolV2())

    def settings(pin):
        return Config(ctap, client.protocol, token(client, ClientPin.PERMISSION.AUTHENTICATOR_CFG, pin=pin))

    settings("12345").set_min_pin_length(min_pin_length=5, rp_ids=[RP["id"]])
    assert ctap.get_info().min_pin_length == 5 and not ctap.get_info().force_pin_change
    expect(CtapError.ERR.PIN_POLICY_VIOLATION, settings("12345").set_min_pin_length, 4)
    puat = token(client, ClientPin.PERMISSION.MAKE_CREDENTIAL, RP["id"], "12345")
    cdh = client_data_hash()
    reply = ctap.make_credential(
        cdh,
        RP,
        user(),
        ES256,
        extensions={"minPinLength": True},
        pin_uv_param=client.protocol.authenticate(puat, cdh),
        pin_uv_protocol=2,
    )
    assert reply.auth_data.extensions == {"minPinLength": 5}
    settings("12345").set_min_pin_length(min_pin_length=6)
    assert ctap.get_info().force_pin_change is True
    expect(CtapError.ERR.PIN_POLICY_VIOLATION, settings, "12345")
    expect(CtapError.ERR.PIN_POLICY_VIOLATION, client.change_pin, "12345", "12345")
    client.change_pin("12345", "123456")
    assert ctap.get_info().force_pin_change is False
    settings("123456").toggle_always_uv()
    now = ctap.get_info()
    assert now.options["alwaysUv"] is True and now.options["makeCredUvNotRqd"] is False
    assert "U2F_V2" not in now.versions
    cdh = client_data_hash()
    expect(CtapError.ERR.PUAT_REQUIRED, ctap.get_assertion, RP["id"], cdh, allow(credential))
    expect(CtapError.ERR.PUAT_REQUIRED, ctap.make_credential, cdh, RP, user(), ES256)
    reply = ctap.get_assertion(RP["id"], cdh, allow(credential), options={"up": False})
    check_assertion(reply, cdh, credential, up=False)
    settings("123456").toggle_always_uv()
    assert ctap.get_info().options["alwaysUv"] is False


def bio(port):
    """Fingerprints: enrol, use, name, remove."""
    ctap = Ctap2(open_key(port))
    client = ClientPin(ctap, PinProtocolV2())
    assert ctap.info.options["uv"] is False
    client.set_pin(PIN)
    ctap = Ctap2(open_key(port))
    client = ClientPin(ctap, PinProtocolV2())
    expect(
        CtapError.ERR.NOT_ALLOWED, client.get_uv_token, ClientPin.PERMISSION.GET_ASSERTION, RP["id"]
    )
    fingers = FPBioEnrollment(ctap, client.protocol, token(client, ClientPin.PERMISSION.BIO_ENROLL))
    sensor = fingers.get_fingerprint_sensor_info()
    assert sensor[FPBioEnrollment.RESULT.FINGERPRINT_KIND] == 1
    expect(CtapError.ERR.INVALID_OPTION, fingers._call, FPBioEnrollment.CMD.ENUMERATE_ENROLLMENTS)
    assert fingers.enumerate_enrollments() == {}
    enroller = fingers.enroll()
    template = None
    samples = 0
    while template is None:
        template = enroller.capture()
        samples += 1
    assert samples == sensor[FPBioEnrollment.RESULT.MAX_SAMPLES_REQUIRED]
    fingers.set_name(template, "thumb")
    assert fingers.enumerate_enrollments() == {template: "thumb"}
    ctap = Ctap2(open_key(port))
    assert ctap.info.options["uv"] is True and ctap.info.options["bioEnroll"] is True
    client = ClientPin(ctap, PinProtocolV2())
    puat = client.get_uv_token(ClientPin.PERMISSION.MAKE_CREDENTIAL, RP["id"])
    cdh = client_data_hash()
    reply = ctap.make_credential(
        cdh,
        RP,
        user(),
        ES256,
        pin_uv_param=client.protocol.authenticate(puat, cdh),
        pin_uv_protocol=2,
    )
    credential = check_registration(reply, cdh, uv=True)
    cdh = client_data_hash()
    reply = ctap.get_assertion(RP["id"], cdh, allow(credential), options={"uv": True})
    check_assertion(reply, cdh, credential, uv=True)
    assert client.get_uv_retries() == 5
    fingers = FPBioEnrollment(ctap, client.protocol, token(client, ClientPin.PERMISSION.BIO_ENROLL))
    fingers.remove_enrollment(template)
    assert fingers.enumerate_enrollments() == {}


def reset(port):
    ctap = Ctap2(open_key(port))
    credential = register(ctap)
    ClientPin(ctap, PinProtocolV2()).set_pin(PIN)
    ctap.reset()
    ctap = Ctap2(open_key(port))
    assert ctap.info.options["clientPin"] is False
    expect(
        CtapError.ERR.NO_CREDENTIALS, ctap.get_assertion, RP["id"], client_data_hash(), allow(credential)
    )


def u2f(port):
    """CTAP1, and credentials that serve both."""
    key = open_key(port)
    ctap1 = Ctap1(key)
    assert ctap1.get_version() == "U2F_V2"
    application = hashlib.sha256(RP["id"].encode()).digest()
    challenge = os.urandom(32)
    registration = ctap1.register(challenge, application)
    registration.verify(application, challenge)
    signature = ctap1.authenticate(challenge, application, registration.key_handle)
    signature.verify(application, challenge, registration.public_key)
    assert signature.user_presence == 1

    def word(expected, *arguments, **keywords):
        try:
            ctap1.authenticate(*arguments, **keywords)
        except ApduError as error:
            assert error.code == expected, hex(error.code)
            return
        raise AssertionError("expected %x" % expected)

    word(APDU.USE_NOT_SATISFIED, challenge, application, registration.key_handle, check_only=True)
    word(APDU.WRONG_DATA, challenge, os.urandom(32), registration.key_handle, check_only=True)
    word(APDU.WRONG_DATA, challenge, application, os.urandom(64), check_only=True)
    if sys.argv[2] == "u2f_only":
        try:
            Ctap2(key)
        except (CtapError, ValueError):
            return
        raise AssertionError("a U2F key must refuse CTAP2")
    ctap = Ctap2(key)
    cdh = client_data_hash()
    reply = ctap.get_assertion(RP["id"], cdh, [{"type": "public-key", "id": registration.key_handle}])
    assert reply.auth_data.is_user_present()
    credential = register(ctap)
    ctap1.authenticate(challenge, application, credential.credential_id)


u2f_only = u2f

if __name__ == "__main__":
    globals()[sys.argv[2]](sys.argv[1])
    print("passed")
