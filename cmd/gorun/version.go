package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"gorun/model"
)

type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
}

func (versionCommand) Help() string { return "Example:\n  gorun version --json" }

// versionReport is the JSON of a version.
type versionReport struct {
	Version       string   `json:"version"`
	Revision      string   `json:"revision,omitempty"`
	Go            string   `json:"go"`
	Platform      string   `json:"platform"`
	Architectures []string `json:"architectures"`
}

// thisVersion is that of the program that runs.
func thisVersion() versionReport {
	r := versionReport{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Architectures: model.Architectures()}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			r.Version = v
		}
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				r.Revision = setting.Value
			}
		}
	}
	return r
}

// String is the line that --version prints.
func (r versionReport) String() string {
	return strings.TrimSpace("gorun " + r.Version + " " + r.Revision)
}

func (c *versionCommand) Run(s *streams) error {
	r := thisVersion()
	if c.JSON {
		return writeJSON(s.out, r)
	}
	fmt.Fprintf(s.out, "%v\n%s %s\narchitectures: %s\n", r, r.Go, r.Platform, strings.Join(r.Architectures, ", "))
	return nil
}
