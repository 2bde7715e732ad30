package images

import (
	"fmt"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// parsePlatform reads "os/arch[/variant]".
func parsePlatform(text string) (v1.Platform, error) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" || strings.ContainsAny(text, ": ") {
		return v1.Platform{}, fmt.Errorf("platform %q is not os/arch or os/arch/variant", text)
	}
	p := v1.Platform{OS: parts[0], Architecture: parts[1]}
	if len(parts) == 3 {
		p.Variant = parts[2]
	}
	return p, nil
}

func parsePlatforms(texts []string) ([]v1.Platform, error) {
	platforms := make([]v1.Platform, len(texts))
	for i, text := range texts {
		var err error
		if platforms[i], err = parsePlatform(text); err != nil {
			return nil, err
		}
	}
	return platforms, nil
}

// variant is the variant a platform has where none is written.
func variant(p v1.Platform) string {
	switch {
	case p.Variant != "":
		return p.Variant
	case p.Architecture == "arm64":
		return "v8"
	case p.Architecture == "arm":
		return "v7"
	default:
		return ""
	}
}

// samePlatform compares what decides which binaries run: "linux/arm64" is
// "linux/arm64/v8".
func samePlatform(a, b v1.Platform) bool {
	return a.OS == b.OS && a.Architecture == b.Architecture && variant(a) == variant(b)
}

// runsOn is samePlatform for an image's config, which often has no variant
// though its index says one.
func runsOn(file v1.ConfigFile, p v1.Platform) bool {
	own := v1.Platform{OS: file.OS, Architecture: file.Architecture, Variant: file.Variant}
	if own.Variant == "" {
		own.Variant = p.Variant
	}
	return samePlatform(own, p)
}

func platformText(p v1.Platform) string {
	if p.Variant == "" {
		return p.OS + "/" + p.Architecture
	}
	return p.OS + "/" + p.Architecture + "/" + p.Variant
}
