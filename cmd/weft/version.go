package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/weft-fabric/weft/provider/ibv/native"
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
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "weft %s (%s, %s, %s)\n", v.Version, v.Go, v.Platform, v.rdma())
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
	RDMA      bool     `json:"rdma"` // the build can load libibverbs; weft doctor says whether it is there
}

func (v versionReport) rdma() string {
	if v.RDMA {
		return "can load RDMA"
	}
	return "static: cannot load RDMA"
}

func describeVersion() versionReport {
	providers := append(providerNames()[1:], "sim") // without auto, which is a choice of them
	static := errors.Is(native.Load(), native.ErrNoCgo)
	return versionReport{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, providers, !static}
}
