package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/workspace"
)

// lock says whether every base image is pinned.
func (x *examination) lock() finding {
	pins := len(x.session.planner().Pins())
	if open := len(x.session.unpinned()); open > 0 {
		return worthKnowing(fmt.Sprintf("%d of %s not pinned in %s: --locked refuses that", open, count(pins, "base image"), workspace.LockFile),
			"run `toa lock update`, and commit "+workspace.LockFile)
	}
	if pins == 0 {
		return fine("no base image has to be pinned")
	}
	return fine(count(pins, "base image") + " pinned in " + workspace.LockFile)
}

// lockfiles says whether npm is told which versions to install.
func (x *examination) lockfiles() finding {
	if err := x.session.checkLockfiles(); err != nil {
		return worthKnowing(err.Error(), "")
	}
	if x.installs() == 0 {
		return fine(nothingToInstall)
	}
	return fine(count(x.installs(), "component") + " with packages to install, all of them locked")
}

const nothingToInstall = "no component has packages to install"

func (x *examination) installs() (n int) {
	for _, c := range x.session.workspace.Components {
		if c.HasDependencies {
			n++
		}
	}
	return n
}

// cache looks at the directory that is kept between runs, and whether what is
// in it can be used.
func (x *examination) cache() finding {
	dir, err := x.cachePath()
	if err != nil {
		return missing(err)
	}
	_, index := databases(dir, x.warn)
	_, _ = cache.NewIndex(index).Latest("", "", "") // what is wrong with it is warned of
	for line := range strings.Lines(x.said.String()) {
		if strings.Contains(line, "going on without") {
			return finding{Status: findingMissing, Text: strings.TrimSpace(strings.TrimPrefix(line, "toa: ")), Hint: "name a directory that you alone can write, on a disk of this machine: --cache-dir or TOA_CACHE_DIR"}
		}
	}
	usage, err := cache.Measure(dir)
	if err != nil {
		return missing(fmt.Errorf("measure cache: %w", err))
	}
	return fine(fmt.Sprintf("%s, %s in %s", dir, mebibytes(usage.Bytes), count(usage.Files, "file")))
}

// oldestNode is the first version of Node.js whose npm does as we ask.
const oldestNode = 20

// npm looks for what installs packages on this machine, if that is done here.
func (x *examination) npm(ctx context.Context) finding {
	e := x.engines()
	_, engine := e.chooser().Engine()
	switch {
	case x.installs() == 0:
		return fine("not needed: " + nothingToInstall)
	case e.kind != images.BuilderNative && e.kind != builderAuto:
		return fine("not needed: packages are installed by builder " + e.kind)
	}
	versions := make([]string, 2)
	for i, name := range []string{"node", "npm"} {
		said, err := firstLine(ctx, name, "--version")
		var absent *images.NoCommandError
		if errors.As(err, &absent) && e.kind == builderAuto && engine != nil {
			return worthKnowing(name+" is not on this machine: the engine installs packages", "")
		}
		if err != nil {
			return missing(err)
		}
		versions[i] = said
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(versions[0], "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldestNode {
		return finding{Status: findingMissing, Text: "Node.js is " + versions[0], Hint: installNode}
	}
	return fine("Node.js " + versions[0] + ", npm " + versions[1])
}

var installNode = fmt.Sprintf("install Node.js %d or later, which brings npm, and see that it is in PATH", oldestNode)

// firstLine is the first line that a program says.
func firstLine(ctx context.Context, name string, args ...string) (string, error) {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out bytes.Buffer
	err := images.Command{Name: name, Args: args, Stdout: &out, Line: func(string, string) {}, Fix: installNode}.Run(limited)
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	return strings.TrimSpace(first), nil
}

// proxyVariables are those that requests follow.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// proxies says what requests go through.
func (x *examination) proxies() finding {
	var set []string
	for _, name := range proxyVariables {
		if value := x.io.Env(name); value != "" {
			set = append(set, name+"="+withoutLogin(value))
		}
	}
	if x.session != nil && x.session.workspace.Context.Runtime.Proxy != "" {
		set = append(set, "npm's: "+withoutLogin(x.session.workspace.Context.Runtime.Proxy))
	}
	if len(set) == 0 {
		return fine("none are set")
	}
	return fine(strings.Join(set, ", "))
}

// withoutLogin takes the name and password out of an address.
func withoutLogin(address string) string {
	u, err := url.Parse(address)
	switch at := strings.LastIndexByte(address, '@'); {
	case at < 0:
		return address
	case err != nil || u.Host == "":
		return "***" + address[at:]
	}
	u.User = url.User("***")
	return u.Scheme + "://***@" + u.Host
}
