# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""One ceremony of an independent client with a long list: lists.py PORT assert|register RPID PIN|- < hex ids.

Prints `done`, or `refused` when the key does not know any of the ids, or knows one that is excluded. How many commands
that took is counted by the key.
"""

import sys

from fido2.client import ClientError, DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.webauthn import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialCreationOptions,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialParameters,
    PublicKeyCredentialRequestOptions,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    UserVerificationRequirement,
)

from wire import open_key

port, act, rp_id, pin = sys.argv[1:5]
kind = PublicKeyCredentialType.PUBLIC_KEY
ids = [PublicKeyCredentialDescriptor(type=kind, id=bytes.fromhex(line)) for line in sys.stdin.read().split()]


class Person(UserInteraction):
    def request_pin(self, permissions, rp_id):
        return pin

    def request_uv(self, permissions, rp_id):
        return True


client = Fido2Client(
    open_key(port), client_data_collector=DefaultClientDataCollector("https://" + rp_id), user_interaction=Person()
)
preferred = UserVerificationRequirement.DISCOURAGED if pin == "-" else UserVerificationRequirement.PREFERRED
try:
    if act == "assert":
        client.get_assertion(
            PublicKeyCredentialRequestOptions(
                challenge=b"c" * 32, rp_id=rp_id, allow_credentials=ids, user_verification=preferred
            )
        )
    else:
        client.make_credential(
            PublicKeyCredentialCreationOptions(
                rp=PublicKeyCredentialRpEntity(id=rp_id, name="Seal"),
                user=PublicKeyCredentialUserEntity(id=b"u" * 16, name="Ada", display_name="Ada"),
                challenge=b"c" * 32,
                pub_key_cred_params=[PublicKeyCredentialParameters(type=kind, alg=-7)],
                exclude_credentials=ids,
                authenticator_selection=AuthenticatorSelectionCriteria(user_verification=preferred),
            )
        )
    print("done")
except ClientError as error:
    assert error.code in (ClientError.ERR.DEVICE_INELIGIBLE,), repr(error)
    print("refused")
