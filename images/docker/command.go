package docker

import (
	"cmp"
	"context"
	"io"
	"os"

	"toa.io/toa/images"
)

// command runs docker, in a directory or else in ours.
type command struct {
	name, dir string
	line      func(stream, text string)
}

func (b *Builder) command(dir string, line func(stream, text string)) command {
	return command{name: b.Docker, dir: dir, line: line}
}

// run runs docker with arguments. Where stdout is nil its lines go where those
// of stderr go.
func (c command) run(ctx context.Context, stdout io.Writer, args []string) error {
	return images.Command{
		Name:   cmp.Or(c.name, "docker"),
		Args:   args,
		Dir:    c.dir,
		Env:    append(os.Environ(), "DOCKER_CLI_HINTS=false"),
		Stdout: stdout,
		Line:   c.line,
		Fix:    "install Docker, or build without it: --builder native, or --builder buildkit with --builder-address URL",
	}.Run(ctx)
}
