package templates

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed dockerfiles
var dockerfiles embed.FS

// Source is the text of our template of a kind of image. It is part of the
// image's key, so a changed template moves every tag that it makes. An unknown
// kind has none.
func Source(kind string) string {
	text, err := dockerfiles.ReadFile("dockerfiles/" + kind)
	if err != nil {
		return ""
	}
	return string(text)
}

// Dockerfile renders a recipe with its own template or ours. What is missing is
// an error, never an empty text, and so is a value that could add, change or
// swallow an instruction.
//
// Secrets are mounted under their own names: build arguments as they are
// called, the .npmrc of a member as "npmrc.<label>".
func Dockerfile(r Recipe) (string, error) {
	return Render(r, func(secret string) string { return secret })
}

// Render is Dockerfile for builders that call secrets by other IDs. The ID is
// in no image and no history, but engines tell by it whether a step was done
// before: with another ID it is done again.
func Render(r Recipe, id func(secret string) string) (string, error) {
	if err := check(r); err != nil {
		return "", fmt.Errorf("render Dockerfile: %w", err)
	}
	if r.Template != "" {
		if err := CheckTemplate(r.Template); err != nil {
			return "", err
		}
	}
	p := page{recipe: r, id: id}
	text, err := parse(r, p.functions())
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := text.Execute(&out, r); err != nil {
		return "", fmt.Errorf("render Dockerfile: %w", err)
	}
	return out.String(), nil
}

// CheckTemplate tells what is wrong with a template that a workspace brings,
// as far as that can be told without a recipe.
func CheckTemplate(text string) error {
	if directive := frontend(text); directive != "" {
		return fmt.Errorf("%q: another frontend would run in the engine with all secrets of the build", directive)
	}
	_, err := parse(Recipe{Template: text}, page{}.functions())
	return err
}

func parse(r Recipe, functions template.FuncMap) (*template.Template, error) {
	text := r.Template
	if text == "" {
		text = Source(r.Kind)
	}
	parsed, err := template.New(r.Kind).Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	return parsed, nil
}

// frontend is the directive by which a Dockerfile asks for another frontend.
// Directives are in the comments that it begins with.
func frontend(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		comment, ok := strings.CutPrefix(line, "#")
		if !ok && line != "" {
			return ""
		}
		name, _, _ := strings.Cut(comment, "=")
		if strings.EqualFold(strings.TrimSpace(name), "syntax") {
			return line
		}
	}
	return ""
}

// maxLayers bounds the layers of one kind in an image: runtimes and registries
// take 127 in all.
const maxLayers = 64

// page is what the functions of templates know.
type page struct {
	recipe Recipe
	id     func(secret string) string
}

func (p page) functions() template.FuncMap {
	return template.FuncMap{
		"quote":     shellQuote,
		"env":       variable,
		"arguments": p.arguments,
		"npm":       p.npm,
		"quietly":   func() string { return quietly },
		"batches":   batches,
		"many":      func(copies []Copy) bool { return len(copies) > maxLayers },
	}
}

// arguments are the flags of RUN that let it see the build arguments.
func (p page) arguments() string {
	if p.recipe.Plain {
		return "" // they are ARGs
	}
	var flags strings.Builder
	for _, name := range p.recipe.Arguments {
		fmt.Fprintf(&flags, "--mount=type=secret,id=%s,env=%s,required=true ", p.id(name), name)
	}
	return flags.String()
}

// npm is what a RUN is followed by that installs packages: flags, and a shell
// line that ends where npm's own arguments begin or, for installs, whole. What
// npm keeps for itself stays out of the image: its cache is correct when it is
// empty, and /tmp is what Node writes compiled code to.
func (p page) npm(installs []Install) string {
	flags := p.arguments() + "--mount=type=cache,target=" + npmCache + ",sharing=locked --mount=type=tmpfs,target=/tmp "
	var lines []string
	for _, one := range installs {
		config := ""
		if one.Config != "" {
			file := "/run/secrets/" + NPMSecret(one.Label)
			flags += fmt.Sprintf("--mount=type=secret,id=%s,target=%s,required=true ", p.id(NPMSecret(one.Label)), file)
			config = "npm_config_userconfig=" + file + " "
		}
		line := "cd " + p.place(one.Label) + " && " + config + p.command(one)
		if len(one.Locals) > 0 {
			line += " && rm -r " + LocalsDir
		}
		lines = append(lines, line)
	}
	return flags + strings.Join(lines, " && ")
}

// LocalsDir is where packages of the workspace stand below the directory that
// they are installed in, until they are.
const LocalsDir = ".packages"

// npmCache is named to npm: where it looks by itself depends on the user that
// the base image has.
const npmCache = "/root/.npm"

// quietly are the flags by which npm does nothing but install.
const quietly = "--cache=" + npmCache + " --no-audit --no-fund --no-update-notifier"

// NPMSecret is the name of the secret that holds a member's .npmrc.
func NPMSecret(label string) string { return strings.TrimSuffix("npmrc."+label, ".") }

func (p page) place(label string) string {
	return strings.TrimSuffix(p.recipe.Workdir+"/"+label, "/")
}

// command lets npm install what the directory states. All that decides what it
// installs is said: a directory's .npmrc stands in for the image's own.
func (p page) command(one Install) string {
	command := "npm install"
	if one.LockName != "" {
		command = "npm ci"
	}
	command += " --omit=dev --install-links=false --no-workspaces " + quietly
	if one.Scripts == "ignore" {
		command += " --ignore-scripts"
	}
	if registry := p.recipe.NPM.Registry; registry != "" {
		command += " --registry=" + shellQuote(registry)
	}
	if proxy := p.recipe.NPM.Proxy; proxy != "" {
		command += " --proxy=" + shellQuote(proxy) + " --https-proxy=" + shellQuote(proxy)
	}
	return command
}

// batches are the installs as they share a RUN: one each, unless that were too
// many layers.
func batches(installs []Install) [][]Install {
	return slices.Collect(slices.Chunk(installs, 1+len(installs)/(maxLayers/2)))
}

// shellQuote makes one word of a shell command line.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// variable makes NAME=value as ENV wants it: in quotes where it has to be.
func variable(line string) string {
	name, value, _ := strings.Cut(line, "=")
	if strings.Trim(value, plain) == "" && value != "" {
		return line
	}
	return name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(value) + `"`
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,"
