package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is stamped by the build.
var version = "unreleased"

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of weft, and what it was built with",
		Args:  noMore,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := describeVersion()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "weft %s (%s, %s)\n", v.Version, v.Go, v.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

type versionReport struct {
	Version   string   `json:"version"`
	Go        string   `json:"go"`
	Platform  string   `json:"platform"`
	Providers []string `json:"providers"`
}

func describeVersion() versionReport {
	providers := append(providerNames()[1:], "sim") // without auto, which is a choice of them
	return versionReport{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, providers}
}
