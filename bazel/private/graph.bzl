"""toa_graph: targets that run toa on a workspace."""

load("//bazel/private:command.bzl", "ATTRIBUTES", "COMMANDS", "FLAGS", "TOOLCHAIN", "command_flags")
load("//bazel/private:shell.bzl", "STAMP", "assign", "is_stamped", "prepend", "quote")
load("//bazel/private:workspace.bzl", "ToaWorkspaceInfo")

def _runfile(ctx, file):
    """The path of a file among runfiles."""
    path = file.short_path
    return path[len("../"):] if path.startswith("../") else ctx.workspace_name + "/" + path

def _find(ctx, variable, file):
    return "%s=$(runfile %s)" % (variable, quote(_runfile(ctx, file)))

def _arguments(ctx, workspace):
    """Lines that put the command line before what the user wrote, and the files they need."""
    command, names = COMMANDS[ctx.attr.command]
    words = command + command_flags(names, ctx.attr)
    environment = ctx.attr.environment or workspace.environment
    files, lines = [workspace.runfiles_sources], []
    if ctx.attr.command == "check":
        lines.append('set -- --cache-dir "${TEST_TMPDIR:-/tmp}/toa" "$@"')
        if ctx.file.tags_file:
            files.append(ctx.file.tags_file)
            lines += [_find(ctx, "list", ctx.file.tags_file), 'set -- --tags "$list" "$@"']
    lines += [_find(ctx, "list", workspace.runfiles_sources), 'set -- --sources "$list" "$@"']
    lines += prepend(words)
    if environment:
        lines += assign("TOA_ENV", environment) + ["export TOA_ENV"]
    if [text for text in words + [environment] if is_stamped(text)]:
        status = [ctx.info_file, ctx.version_file]
        files += status
        lines = ["status_files() {"] + ["    runfile " + quote(_runfile(ctx, file)) for file in status] + ["}", STAMP] + lines
    return lines, files

def _launcher_impl(ctx):
    workspace = ctx.attr.workspace[ToaWorkspaceInfo]
    toolchain = ctx.toolchains[TOOLCHAIN]
    lines, files = _arguments(ctx, workspace)
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.expand_template(
        is_executable = True,
        output = script,
        substitutions = {
            "%{arguments}": "\n".join(lines),
            "%{label}": str(ctx.label),
            "%{toa}": _runfile(ctx, toolchain.executable),
            "%{workspace}": ctx.workspace_name,
        },
        template = ctx.file._launcher,
    )
    runfiles = ctx.runfiles(files = files + [toolchain.executable], transitive_files = workspace.files)
    return [DefaultInfo(
        executable = script,
        runfiles = runfiles.merge(toolchain.runfiles),
    )]

_ATTRIBUTES = dict(
    ATTRIBUTES,
    command = attr.string(
        doc = "Which of COMMANDS to run.",
        mandatory = True,
        values = sorted(COMMANDS.keys()),
    ),
    environment = attr.string(doc = "The environment, if not that of the workspace."),
    tags_file = attr.label(
        allow_single_file = True,
        doc = "A file of references that has to be up to date.",
    ),
    workspace = attr.label(
        doc = "The toa_workspace.",
        mandatory = True,
        providers = [ToaWorkspaceInfo],
    ),
    _launcher = attr.label(
        allow_single_file = True,
        default = "//bazel/private:launcher.sh.tpl",
    ),
)

_toa_command = rule(
    implementation = _launcher_impl,
    attrs = _ATTRIBUTES,
    doc = "Runs one command of toa.",
    executable = True,
    toolchains = [str(TOOLCHAIN)],
)

_toa_check_test = rule(
    implementation = _launcher_impl,
    attrs = _ATTRIBUTES,
    doc = "Fails when something is wrong with the workspace, or stale.",
    test = True,
    toolchains = [str(TOOLCHAIN)],
)

def toa_graph(name, workspace, environment = "", tags_file = None, tags = [], visibility = None, testonly = None, **attributes):
    """Targets that run toa on a workspace, each in one invocation for all its images.

    | target | does |
    |---|---|
    | `NAME` | `toa graph build`: builds what changed, publishes it, makes the release |
    | `NAME.build` | `toa build`: builds for this machine only |
    | `NAME.plan` | `toa graph plan`: says what would be built, and why |
    | `NAME.diff` | `toa graph plan --diff`: and what the release would change |
    | `NAME.push` | `toa push`: builds and publishes |
    | `NAME.deploy` | `toa deploy`: builds, publishes, and applies the release to the cluster |
    | `NAME.rollback` | `toa rollback`: makes an earlier revision again |
    | `NAME.check` | a test: fails when toa.lock or tags_file is stale, or the workspace is invalid |

    What stands after `--` follows the attributes on the command line, and so
    overrides them: `bazel run :shop.push -- --registry localhost:5000 staging`.

    Args:
      name: what the targets are named after.
      workspace: label of the toa_workspace.
      environment: the environment, if not that of the workspace.
      tags_file: a file in the source tree that holds what toa_tags makes; NAME.check fails when it is stale.
      tags: Bazel's tags of all targets.
      visibility: of all targets.
      testonly: as for any target.
      **attributes: registry, builder, builder_address, jobs, kube_context,
        namespace, mono: see docs/bazel.md. In texts, {KEY} stands for the value
        that --workspace_status_command prints for KEY.
    """
    unknown = [attribute for attribute in attributes if attribute not in FLAGS]
    if unknown:
        fail("toa_graph %s has no attribute %s: it has %s" % (name, ", ".join(unknown), ", ".join(sorted(FLAGS))))
    for command, (_, takes) in COMMANDS.items():
        settings = {key: value for key, value in attributes.items() if key in takes}
        settings.update(
            name = name if command == "graph" else "%s.%s" % (name, command),
            command = command,
            environment = environment,
            testonly = testonly,
            visibility = visibility,
            workspace = workspace,
        )
        if command == "check":
            _toa_check_test(size = "small", tags = tags + ["block-network"], tags_file = tags_file, **settings)
        else:
            _toa_command(tags = tags, **settings)
