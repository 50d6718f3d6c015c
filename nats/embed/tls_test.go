package embed_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"

	"github.com/rondo-go/rondo"
	"github.com/rondo-go/rondo/nats"
)

// TestTLS: TLS and credentials are the options of the server and of the client. Who has
// not got them is refused.
func TestTLS(t *testing.T) {
	certificate, roots := selfSigned(t)
	o := server.Options{
		Username: "user", Password: "secret", TLS: true, TLSTimeout: 10,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}},
	}
	run(t, o, func(g *rondo.Scope, url string) error {
		secure := natsgo.Secure(&tls.Config{RootCAs: roots, ServerName: "localhost"})
		c := connect(t, g, url, secure, natsgo.UserInfo("user", "secret"))
		if state, err := c.NC().TLSConnectionState(); err != nil || !state.HandshakeComplete {
			t.Errorf("no TLS: %v", err)
		}
		if err := c.Flush(g); err != nil {
			return err
		}
		if _, err := nats.Connect(g, url, secure, natsgo.UserInfo("user", "wrong")); !errors.Is(err, natsgo.ErrAuthorization) {
			t.Errorf("a wrong password: %v", err)
		}
		var unknown x509.UnknownAuthorityError
		if _, err := nats.Connect(g, url, natsgo.UserInfo("user", "secret"), natsgo.Secure(&tls.Config{ServerName: "localhost"})); !errors.As(err, &unknown) {
			t.Errorf("an unknown certificate: %v", err)
		}
		return nil
	})
}

// selfSigned makes a certificate for localhost.
func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
