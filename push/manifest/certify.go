package manifest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

const domainKey = "weft push key 1\x00"

// ErrCertified: the owner of a certificate has not certified this key for this push.
var ErrCertified = errors.New("the key of the push is not certified")

// Certify has the owner of a certificate sign the key of a push.
func Certify(id ID, key ed25519.PublicKey, owner crypto.Signer, random io.Reader) ([]byte, error) {
	text := signedText(domainKey, id, key)
	options := crypto.SignerOpts(crypto.SHA256)
	switch owner.Public().(type) {
	case ed25519.PublicKey:
		options = crypto.Hash(0) // it hashes by itself
	case *ecdsa.PublicKey, *rsa.PublicKey:
		digest := sha256.Sum256(text)
		text = digest[:]
	default:
		return nil, unknownKey(owner.Public())
	}
	signature, err := owner.Sign(random, text, options)
	if err != nil {
		return nil, fmt.Errorf("certify the key of the push: %w", err)
	}
	return signature, nil
}

func unknownKey(owner crypto.PublicKey) error {
	return fmt.Errorf("%w: a certificate with a key of type %T cannot do that; ECDSA, Ed25519 and RSA can", ErrCertified, owner)
}

// CheckCertified checks what Certify has signed. Whether the owner's certificate is to be trusted, and has the right role, is another
// question.
func CheckCertified(id ID, key ed25519.PublicKey, owner crypto.PublicKey, signature []byte) error {
	text := signedText(domainKey, id, key)
	digest := sha256.Sum256(text)
	var ok bool
	switch owner := owner.(type) {
	case ed25519.PublicKey:
		ok = len(owner) == ed25519.PublicKeySize && ed25519.Verify(owner, text, signature)
	case *ecdsa.PublicKey:
		ok = ecdsa.VerifyASN1(owner, digest[:], signature)
	case *rsa.PublicKey:
		ok = rsa.VerifyPKCS1v15(owner, crypto.SHA256, digest[:], signature) == nil
	default:
		return unknownKey(owner)
	}
	if !ok {
		return fmt.Errorf("%w by the pusher's certificate: the signature does not fit", ErrCertified)
	}
	return nil
}
