package main

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/internal/printable"
	"github.com/weft-fabric/weft/keys"
)

// keyReport is what the commands about keys tell of a file.
type keyReport struct {
	File        string    `json:"file"`
	Done        string    `json:"done,omitempty"` // made, kept or renewed
	Authority   bool      `json:"authority"`      // it is the authority itself
	Cluster     string    `json:"cluster"`
	Name        string    `json:"name,omitempty"`
	Role        string    `json:"role,omitempty"`
	Services    []string  `json:"services,omitempty"`
	Addresses   []string  `json:"addresses,omitempty"`
	Begins      time.Time `json:"begins"`
	Ends        time.Time `json:"ends"`
	Valid       bool      `json:"valid"` // now
	Key         bool      `json:"key"`   // is in the file
	Fingerprint string    `json:"fingerprint"`
	Trusts      []string  `json:"trusts,omitempty"` // fingerprints of authorities
}

// keysReport is what they tell programs.
type keysReport struct {
	Version string      `json:"version"`
	Files   []keyReport `json:"files"`
}

// of adds to a report what a bundle holds, which is known to be of Weft.
func (r keyReport) of(b *keys.Bundle) keyReport {
	c, now := b.Certificate, time.Now()
	if c.IsCA {
		r.Authority = true
		r.Cluster, _ = keys.ClusterOf(c)
	} else {
		id, _ := keys.IdentityOf(c)
		r.Cluster, r.Name, r.Role, r.Services = id.Cluster, id.Name, id.Role, id.Services
	}
	r.Addresses, r.Begins, r.Ends = addressesOf(c), c.NotBefore.UTC(), c.NotAfter.UTC()
	r.Valid, r.Key, r.Fingerprint = !now.Before(r.Begins) && !now.After(r.Ends), b.Key != nil, fingerprint(c)
	for _, a := range b.Authorities {
		r.Trusts = append(r.Trusts, fingerprint(a))
	}
	return r
}

// addressesOf are the host names and IP addresses in a certificate.
func addressesOf(c *x509.Certificate) (addresses []string) {
	addresses = append(addresses, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		addresses = append(addresses, ip.String())
	}
	return addresses
}

// fingerprint is as openssl x509 -fingerprint -sha256 prints it.
func fingerprint(c *x509.Certificate) string {
	return strings.ReplaceAll(fmt.Sprintf("% X", sha256.Sum256(c.Raw)), " ", ":")
}

// printKeys prints what was done, a line for each file.
func printKeys(out io.Writer, asJSON bool, reports ...keyReport) error {
	if asJSON {
		return json.NewEncoder(out).Encode(keysReport{version, reports})
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, r := range reports {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Done, printable.Clean(r.File, len(r.File)), r.who(), r.until())
	}
	w.Flush()
	_, err := io.WriteString(out, text.String())
	return err
}

func (r keyReport) who() string {
	if r.Authority {
		return "authority of cluster " + r.Cluster
	}
	return fmt.Sprintf("%s, %s: %s", r.Name, r.Role, r.services())
}

func (r keyReport) services() string {
	if len(r.Services) == 0 {
		return "may register no service"
	}
	return "may register " + strings.Join(r.Services, ", ")
}

// until says when the certificate ends, and whether that is over.
func (r keyReport) until() string {
	day := r.Ends.Format("2006-01-02 15:04 UTC")
	switch {
	case r.Valid:
		return fmt.Sprintf("until %s, %s", day, left(time.Until(r.Ends)))
	case time.Now().After(r.Ends):
		return fmt.Sprintf("ENDED %s: 'weft keys renew' makes a new one", day)
	}
	return fmt.Sprintf("NOT YET valid, from %s until %s: is the clock right?", r.Begins.Format("2006-01-02 15:04 UTC"), day)
}

func left(d time.Duration) string {
	if d > 2*oneDay {
		return fmt.Sprintf("%d days left", d.Round(oneDay)/oneDay)
	}
	return fmt.Sprintf("%v left", d.Round(time.Minute))
}

func newKeysShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show FILE...",
		Short: "Show whose a certificate is, what it allows, and until when",
		Long: `Reads a file of keys, or of a certificate alone. Several files that hold the
parts of one member (key, certificate, authority) may be named together.

Exit status 0 also if the certificate has ended; "valid" in the JSON tells.`,
		Example: `  weft keys show keys/host1.pem
  weft keys show tls.crt tls.key ca.crt --json`,
		Args: takes(1, 1+keys.MaxAuthorities, "the file of a certificate: FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return showKeys(cmd.OutOrStdout(), args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func showKeys(out io.Writer, paths []string, asJSON bool) error {
	b, err := keys.Read(paths...)
	if err != nil {
		return err
	}
	if _, err = keys.ClusterOf(b.Certificate); !b.Certificate.IsCA {
		_, err = keys.IdentityOf(b.Certificate)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", paths[0], err)
	}
	r := keyReport{File: paths[0]}.of(b)
	if asJSON {
		return printKeys(out, true, r)
	}
	return r.print(out)
}

// print shows all there is to know.
func (r keyReport) print(out io.Writer) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	line := func(what, value string) { fmt.Fprintf(w, "%s\t%s\n", what, printable.Clean(value, len(value))) }
	if r.Authority {
		line("authority of", r.Cluster)
	} else {
		line("name", r.Name)
		line("cluster", r.Cluster)
		line("role", r.Role)
		line("services", r.services())
		line("addresses", strings.Join(r.Addresses, ", "))
	}
	line("valid", r.until())
	line("key", map[bool]string{true: "in the file: keep it secret", false: "not in the file"}[r.Key])
	line("fingerprint", r.Fingerprint)
	for _, t := range r.Trusts {
		line("trusts", t)
	}
	w.Flush()
	_, err := io.WriteString(out, text.String())
	return err
}
