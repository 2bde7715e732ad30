package images

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// npmLock is what we need of a lockfile (version 2 or 3; the list of packages
// that older ones have instead tells none of it).
type npmLock struct {
	Packages map[string]npmPackage `json:"packages"`
}

type npmPackage struct {
	Resolved string   `json:"resolved"`
	Link     bool     `json:"link"`
	Dev      bool     `json:"dev"`
	Scripts  bool     `json:"hasInstallScript"`
	OS       textList `json:"os"`
	CPU      textList `json:"cpu"`
	Libc     textList `json:"libc"`
	// Optional are the packages that it can do without.
	Optional map[string]string `json:"optionalDependencies"`
}

// textList is a list of texts, or one text for a list of one.
type textList []string

// UnmarshalJSON implements json.Unmarshaler.
func (l *textList) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = textList{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// allows tells whether what is listed ("linux", "!win32") takes in a value.
func (l textList) allows(value string) bool {
	positive := false
	for _, item := range l {
		switch {
		case item == "!"+value:
			return false
		case item == value || item == "any":
			return true
		case !strings.HasPrefix(item, "!"):
			positive = true
		}
	}
	return !positive
}

func parseNPMLock(data []byte) (npmLock, error) {
	var lock npmLock
	if err := json.Unmarshal(data, &lock); err != nil {
		return npmLock{}, fmt.Errorf("read lockfile: %w", err)
	}
	return lock, nil
}

// npmTarget is a platform in npm's words.
type npmTarget struct{ os, cpu, libc string }

// npmTargetOf translates a platform. Which C library there is, an image does
// not say; Alpine's have musl.
func npmTargetOf(p v1.Platform, reference string, base v1.ConfigFile) npmTarget {
	t := npmTarget{os: p.OS, cpu: p.Architecture, libc: "glibc"}
	switch p.Architecture {
	case "amd64":
		t.cpu = "x64"
	case "386":
		t.cpu = "ia32"
	case "ppc64le":
		t.cpu = "ppc64"
	}
	told := func(h v1.History) bool { return strings.Contains(h.CreatedBy, "alpine") }
	if strings.Contains(reference, "alpine") || slices.ContainsFunc(base.History, told) {
		t.libc = "musl"
	}
	return t
}

// flags are what makes npm install for the target; zero takes any platform's.
func (t npmTarget) flags() []string {
	if t == (npmTarget{}) {
		return nil
	}
	return []string{"--os=" + t.os, "--cpu=" + t.cpu, "--libc=" + t.libc}
}

// installed tells whether a package is installed for the target.
func (p npmPackage) installed(t npmTarget) bool {
	return !p.Dev && p.OS.allows(t.os) && p.CPU.allows(t.cpu) && p.Libc.allows(t.libc)
}

// scripts are the packages whose install scripts would run, sorted.
func (l npmLock) scripts(t npmTarget) []string {
	var names []string
	for at, p := range l.Packages {
		if p.Scripts && p.installed(t) {
			names = append(names, npmName(at))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// portable tells whether every platform gets the same packages.
func (l npmLock) portable() bool {
	for _, p := range l.Packages {
		if !p.Dev && len(p.OS)+len(p.CPU)+len(p.Libc) > 0 {
			return false
		}
	}
	return l.Packages != nil
}

// npmName is the package's name in a path of node_modules.
func npmName(at string) string {
	if i := strings.LastIndex(at, "node_modules/"); i >= 0 {
		return at[i+len("node_modules/"):]
	}
	if at == "" {
		return "the component itself"
	}
	return at
}
