package images

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// Context is what an engine gets to build a step from, beside the Dockerfile.
type Context struct {
	// Parts are the directories that the Dockerfile copies.
	Parts []ContextPart
	// Secrets are what RUN lines see and no layer holds.
	Secrets []Secret
	// Plain are variables of our own environment that are no secrets: they are
	// given as build arguments.
	Plain []string
}

// ContextPart is one directory of a build context.
type ContextPart struct {
	// Label is its name in the context; empty means the context itself.
	Label string
	// Dir is where its files are; Owner is whose they are, for messages.
	Dir, Owner string
	Tree       *cache.Tree
}

// Secret is a value that RUN lines see.
type Secret struct {
	// ID is what the Dockerfile calls it.
	ID string
	// Env is the variable of our own environment that holds it; where it is
	// empty, Data is the value.
	Env  string
	Data []byte
}

// ContextOf is what an engine builds the step from: for a dependencies image
// what npm needs of each member, else the files that are copied; and the
// secrets: build arguments, and each member's .npmrc.
func ContextOf(step orchestrator.Step) (Context, error) {
	made := Context{}
	if err := checkArguments(step); err != nil {
		return Context{}, err
	}
	made.arguments(&step.Recipe)
	for i, one := range step.Recipe.Installs {
		if i >= len(step.Sources) {
			return Context{}, fmt.Errorf("%s installs in %d directories and is given %d", step.ID, len(step.Recipe.Installs), len(step.Sources))
		}
		job := install{Install: one, source: step.Sources[i]}
		if err := made.add(step, job); err != nil {
			return Context{}, fmt.Errorf("read packages of %s: %w", job.source.Component, err)
		}
	}
	for i, one := range step.Recipe.Copies {
		if i >= len(step.Sources) {
			return Context{}, fmt.Errorf("%s copies %d directories and is given %d", step.ID, len(step.Recipe.Copies), len(step.Sources))
		}
		from := step.Sources[i]
		made.Parts = append(made.Parts, ContextPart{Label: one.Label, Dir: from.Dir, Owner: from.Component, Tree: from.Tree})
	}
	return made, nil
}

// add adds what npm needs of one member. Where the recipe copies the member
// whole, only its .npmrc is missing.
func (c *Context) add(step orchestrator.Step, job install) error {
	if err := job.read(); err != nil {
		return err
	}
	if data, ok := job.files[npmConfig]; ok {
		c.Secrets = append(c.Secrets, Secret{ID: npmSecret(job.Label), Data: data})
	}
	if len(step.Recipe.Copies) > 0 {
		return nil
	}
	var files []cache.File
	for name, data := range job.files {
		if name != npmConfig {
			files = append(files, cache.Generated(name, data))
		}
	}
	c.Parts = append(c.Parts, ContextPart{Label: job.Label, Dir: job.source.Dir, Owner: job.source.Component, Tree: cache.NewTree(files)})
	return nil
}

// npmSecret is the ID under which a member's .npmrc is known to its Dockerfile.
func npmSecret(label string) string {
	return strings.TrimSuffix("npmrc."+label, ".")
}

func (c *Context) arguments(recipe *templates.Recipe) {
	if recipe.Plain {
		c.Plain = recipe.Arguments
		return
	}
	for _, name := range recipe.Arguments {
		c.Secrets = append(c.Secrets, Secret{ID: name, Env: name})
	}
}

func checkArguments(step orchestrator.Step) error {
	for _, name := range step.Recipe.Arguments {
		if _, set := os.LookupEnv(name); !set {
			return &UnsetArgumentError{Step: step.ID, Name: name}
		}
	}
	return nil
}

// UnsetArgumentError says that a build argument has no value.
type UnsetArgumentError struct {
	Step graph.ID
	Name string
}

func (e *UnsetArgumentError) Error() string {
	return fmt.Sprintf("%s: build argument %s is not set in the environment", e.Step, e.Name)
}

// Hint is how to mend it.
func (e *UnsetArgumentError) Hint() string {
	return "set it: " + e.Name + "=… toa …, or take it out of build.arguments"
}

// Mistake is true: it is found before anything is touched.
func (*UnsetArgumentError) Mistake() bool { return true }

// minSecret is the length below which a value is left in texts: taking "1" or
// "true" out would make them unreadable and hide nothing.
const minSecret = 6

// Redactor takes the values of secrets out of lines of text, such as an
// engine's output.
func (c Context) Redactor() *strings.Replacer {
	values := c.values()
	// A value that begins another one must not uncover the rest of it.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	pairs := make([]string, 0, 2*len(values))
	for _, value := range values {
		pairs = append(pairs, value, "***")
	}
	return strings.NewReplacer(pairs...)
}

// values are the lines of all secrets that are worth hiding.
func (c Context) values() []string {
	var values []string
	for _, secret := range c.Secrets {
		text := string(secret.Data)
		if secret.Env != "" {
			text = os.Getenv(secret.Env)
		}
		for line := range strings.Lines(text) {
			if key, value, ok := strings.Cut(line, "="); ok && secret.Env == "" {
				line = ""
				if strings.Contains(":"+strings.TrimSpace(key), ":_") { // _auth=…, //host/:_authToken=…
					line = strings.Trim(strings.TrimSpace(value), `"`)
				}
			}
			if line = strings.TrimSpace(line); len(line) >= minSecret {
				values = append(values, line)
			}
		}
	}
	return values
}

// CheckArguments tells of the first build argument without a value among the
// steps that have to be built, so that nothing is built in vain.
func CheckArguments(steps []orchestrator.Step) error {
	for _, step := range steps {
		if step.Cached {
			continue
		}
		if err := checkArguments(step); err != nil {
			return err
		}
	}
	return nil
}

// CacheReference is where the registry keeps the build cache of one image,
// below a base such as "registry/shop/buildcache"; empty where base is. Each
// image has its own: what several builds write at one place only the last has.
func CacheReference(base string, step orchestrator.Step) string {
	if base == "" {
		return ""
	}
	return path.Join(base, step.ID.Kind(), step.ID.Name()) + ":" + cacheTag(step.Recipe)
}

// cacheTag tells caches of different platforms apart.
func cacheTag(r templates.Recipe) string {
	return strings.NewReplacer("/", "-").Replace(strings.Join(r.Platforms, "_"))
}
