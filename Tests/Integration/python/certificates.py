# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Checks the virtual key's attestation with `cryptography`: certificates.py ROOT LEAF AUTHDATA CLIENTDATAHASH SIGNATURE.

All arguments are hexadecimal. Ends 0 when the leaf is signed by the root, has the form that WebAuthn level 3 section
8.2.1 demands, and its key made the signature.
"""

import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

root_der, leaf_der, auth_data, client_data_hash, signature = (bytes.fromhex(a) for a in sys.argv[1:6])
root = x509.load_der_x509_certificate(root_der)
leaf = x509.load_der_x509_certificate(leaf_der)
root.verify_directly_issued_by(root)
leaf.verify_directly_issued_by(root)
assert leaf.version == x509.Version.v3
subject = {a.oid: a.value for a in leaf.subject}
assert len(subject[x509.NameOID.COUNTRY_NAME]) == 2
assert subject[x509.NameOID.ORGANIZATIONAL_UNIT_NAME] == "Authenticator Attestation"
assert "not a real authenticator" in subject[x509.NameOID.ORGANIZATION_NAME]
assert "not a real authenticator" in root.subject.rfc4514_string()
constraints = leaf.extensions.get_extension_for_class(x509.BasicConstraints)
assert constraints.critical and constraints.value.ca is False
assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is True
assert root.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
aaguid = leaf.extensions.get_extension_for_oid(x509.ObjectIdentifier("1.3.6.1.4.1.45724.1.1.4"))
assert not aaguid.critical and aaguid.value.value == b"\x04\x10" + auth_data[37:53]
assert auth_data[37:53] == b"sealkey-virtual!"
leaf.public_key().verify(signature, auth_data + client_data_hash, ec.ECDSA(hashes.SHA256()))
