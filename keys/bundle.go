package keys

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bundle is what the files of a member hold, or those of an authority.
type Bundle struct {
	Certificate *x509.Certificate   // the owner's
	Key         crypto.Signer       // that fits it; nil: it is not there
	Authorities []*x509.Certificate // whom the owner trusts; none in that of an authority
}

// ParseBundle reads PEM, in any order. Blocks other than certificates and keys are skipped.
func ParseBundle(text []byte) (*Bundle, error) {
	b := &Bundle{}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if err := b.add(block); err != nil {
			return nil, fmt.Errorf("%w: %w", err, ErrNotKeys)
		}
	}
	if err := b.sort(); err != nil {
		return nil, fmt.Errorf("%w: %w", err, ErrNotKeys)
	}
	return b, nil
}

// add takes one block. All certificates are authorities until sort has found the owner's.
func (b *Bundle) add(block *pem.Block) error {
	switch {
	case block.Type == "CERTIFICATE":
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return err
		}
		b.Authorities = append(b.Authorities, c)
		return checkCount(len(b.Authorities), "certificates", 1+MaxAuthorities)
	case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil
	case b.Key != nil:
		return errors.New("there are two keys")
	}
	key, err := parseKey(block)
	b.Key = key
	return err
}

// parseKey knows the two forms in which tools write keys on curves.
func parseKey(block *pem.Block) (crypto.Signer, error) {
	switch block.Type {
	case "PRIVATE KEY":
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, fmt.Errorf("a key of type %T cannot sign", key)
	case "EC PRIVATE KEY":
		return x509.ParseECPrivateKey(block.Bytes)
	}
	return nil, fmt.Errorf("%q is not known: store the key as PKCS #8, without a password", block.Type)
}

// sort finds the owner's certificate: that of the key or, without a key, the one that is no authority's.
func (b *Bundle) sort() error {
	if len(b.Authorities) == 0 {
		return errors.New("there is no certificate")
	}
	own := max(0, slices.IndexFunc(b.Authorities, isMember))
	if b.Key != nil {
		own = slices.IndexFunc(b.Authorities, b.fits)
	}
	if own < 0 {
		return errors.New("the key fits no certificate")
	}
	b.Certificate = b.Authorities[own]
	b.Authorities = slices.Delete(b.Authorities, own, own+1)
	if slices.ContainsFunc(b.Authorities, isMember) {
		return errors.New("there are certificates of two members, or one from between an authority and a member")
	}
	return nil
}

func isMember(c *x509.Certificate) bool { return !c.IsCA }

func (b *Bundle) fits(c *x509.Certificate) bool {
	public, ok := b.Key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(c.PublicKey)
}

// Encode is the bundle as PEM. Without a key it is no secret.
func (b *Bundle) Encode() ([]byte, error) {
	var out bytes.Buffer
	if b.Key != nil {
		der, err := x509.MarshalPKCS8PrivateKey(b.Key)
		if err != nil {
			return nil, err
		}
		_ = pem.Encode(&out, &pem.Block{Type: "PRIVATE KEY", Bytes: der}) // memory takes everything
	}
	for _, c := range append([]*x509.Certificate{b.Certificate}, b.Authorities...) {
		_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	return out.Bytes(), nil
}
