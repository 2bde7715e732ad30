package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint/support"
)

// helm is the command of that name in scripts: `helm template NAME DIR` and
// `helm lint DIR`, by the code that the real one is a thin layer over.
func helm() {
	if err := runHelm(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

func runHelm(out io.Writer, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: helm template|lint …")
	}
	flags := flag.NewFlagSet("helm "+args[0], flag.ContinueOnError)
	namespace := flags.String("namespace", "default", "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "template" && flags.NArg() == 2:
		return helmTemplate(out, *namespace, flags.Arg(0), flags.Arg(1))
	case args[0] == "lint" && flags.NArg() == 1:
		return helmLint(flags.Arg(0))
	default:
		return fmt.Errorf("unknown command line %q", args)
	}
}

func helmTemplate(out io.Writer, namespace, name, dir string) error {
	loaded, err := loader.Load(dir)
	if err != nil {
		return err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.DryRun, install.ClientOnly, install.Replace = true, true, true
	install.ReleaseName, install.Namespace = name, namespace
	made, err := install.Run(loaded, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, strings.TrimSpace(made.Manifest))
	return err
}

// helmLint takes what Helm only suggests for a fault: a missing icon is none.
func helmLint(dir string) error {
	result := action.NewLint().Run([]string{dir}, nil)
	err := errors.Join(result.Errors...)
	for _, message := range result.Messages {
		if message.Severity > support.InfoSev {
			err = errors.Join(err, message)
		}
	}
	return err
}
