// Answers what packages are and what they need of a deployment: one JSON object
// per line in and out. Requests are {ask, directory, key, annotation, instances,
// all}, answers {introduction}, {declaration} or {error}.

import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import process from 'node:process'

// Standard output belongs to the protocol: whatever packages print goes elsewhere.
const answer = process.stdout.write.bind(process.stdout)

process.stdout.write = process.stderr.write.bind(process.stderr)

for (const name of ['log', 'info', 'debug', 'dir', 'table']) console[name] = console.error

function entry (directory) {
  for (const name of ['definition.js', 'definition.mjs', 'definition.cjs'])
    if (existsSync(join(directory, name))) return join(directory, name)

  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
  const require = createRequire(join(directory, 'package.json'))

  return manifest.exports === undefined ? require.resolve(directory) : require.resolve(manifest.name)
}

async function load (directory, key) {
  const module = await import(pathToFileURL(entry(directory)).href)
  const exported = { ...module.default, ...module }

  if (!key) return exported

  const keys = { ...exported.keys?.default, ...exported.keys }

  if (keys[key] === undefined) throw new Error(`it has no declaration ${key}`)

  return keys[key]
}

function normalize (definition, instances) {
  if (definition.manifest === undefined) return instances

  return instances.map((instance) => {
    const manifest = definition.manifest(instance.manifest, instance.component)

    if (manifest === undefined) throw new Error(`it does not take what ${instance.locator.id} declares`)

    return { ...instance, manifest }
  })
}

function installs (definition, services, instances, annotation) {
  const result = {}

  if (definition.installs === undefined) return result

  for (const instance of instances)
    result[instance.locator.label] = definition.installs(instance, annotation)

  for (const { group, name } of services ?? [])
    result[`${group}-${name}`] = definition.installs(undefined, annotation)

  return result
}

async function introduce ({ directory, key, annotation }) {
  const definition = await load(directory, key)
  const { manifests, paths } = definition.components?.(annotation) ?? {}

  return { introduction: { standalone: definition.standalone === true, manifests, paths } }
}

async function describe ({ directory, key, annotation, instances, all }) {
  const definition = await load(directory, key)
  const everyone = normalize(definition, all)
  const deployed = new Set(instances.map(({ locator }) => locator.id))
  const managed = everyone.filter(({ locator }) => deployed.has(locator.id))

  if (definition.annotation !== undefined) annotation = definition.annotation(annotation, everyone)

  const declaration = await definition.deployment?.(managed, annotation, everyone) ?? {}

  return { declaration: { ...declaration, installs: installs(definition, declaration.services, managed, annotation) } }
}

const questions = { introduce, describe }

for await (const line of createInterface({ input: process.stdin })) {
  let result

  try {
    const { ask, ...question } = JSON.parse(line)

    result = await questions[ask](question)
  } catch (error) {
    result = { error: String(error?.message ?? error) }
  }

  answer(JSON.stringify(result) + '\n')
}

process.exit(0)
