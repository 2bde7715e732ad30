"""toa_tags and toa_chart: what toa makes of a workspace without building images."""

load("//bazel/private:command.bzl", "ATTRIBUTES", "TOOLCHAIN", "command_flags")
load("//bazel/private:shell.bzl", "STAMP", "assign", "is_stamped", "prepend", "quote")
load("//bazel/private:workspace.bzl", "ToaWorkspaceInfo")

_TAGS = """\
"$toa" "$@" "$environment" >"$out"
"""

_CHART = """\
"$toa" "$@" "$environment" "$out"
"""

def _run(ctx, out, command, script, inputs = []):
    """Runs toa in a sandbox without network, on nothing but the workspace's files.

    What it keeps between runs is of no use here, so it is thrown away.
    """
    workspace = ctx.attr.workspace[ToaWorkspaceInfo]
    toolchain = ctx.toolchains[TOOLCHAIN]
    environment = ctx.attr.environment or workspace.environment
    words = command + command_flags(["mono", "registry"], ctx.attr) + ["--sources", workspace.sources.path]
    inputs = inputs + [workspace.sources]
    lines = ["set -eu", "toa=$1 out=$2 cache=$(mktemp -d)", "trap 'rm -rf \"$cache\"' EXIT"]
    if [text for text in words + [environment] if is_stamped(text)]:
        # Volatile values are left out: what is cached would have old ones.
        inputs.append(ctx.info_file)
        lines += ["status_files() { echo %s; }" % quote(ctx.info_file.path), STAMP]
    lines += assign("environment", environment)
    lines += ['set -- --cache-dir "$cache"'] + prepend(words)
    ctx.actions.run_shell(
        arguments = [toolchain.executable.path, out.path],
        command = "\n".join(lines + [script]),
        execution_requirements = {"block-network": "1"},
        inputs = depset(inputs, transitive = [workspace.files]),
        mnemonic = "Toa",
        outputs = [out],
        progress_message = "Making %s" % out.short_path,
        tools = [toolchain.files_to_run],
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]))]

def _toa_tags_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".json")
    return _run(ctx, out, ["export", "tags", "--output=json"], _TAGS)

def _toa_chart_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".tgz")
    references = ctx.file.references
    return _run(ctx, out, ["export", "chart", "--references", references.path], _CHART, [references])

_ATTRIBUTES = {
    "environment": attr.string(doc = "The environment, if not that of the workspace."),
    "mono": ATTRIBUTES["mono"],
    "registry": ATTRIBUTES["registry"],
    "workspace": attr.label(
        doc = "The toa_workspace.",
        mandatory = True,
        providers = [ToaWorkspaceInfo],
    ),
}

toa_tags = rule(
    implementation = _toa_tags_impl,
    attrs = _ATTRIBUTES,
    doc = "Makes NAME.json: the references of all images that are built, as `toa export tags -o json` prints them. They have no digest, because no image is built for it.",
    toolchains = [str(TOOLCHAIN)],
)

toa_chart = rule(
    implementation = _toa_chart_impl,
    attrs = dict(
        _ATTRIBUTES,
        references = attr.label(
            allow_single_file = True,
            doc = "What NAME.push printed: a line for each image, with its digest. It has to be of the workspace as it stands.",
            mandatory = True,
        ),
    ),
    doc = "Makes NAME.tgz: the package of the Helm chart, in which images stand by digest.",
    toolchains = [str(TOOLCHAIN)],
)
