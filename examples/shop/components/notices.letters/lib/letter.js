'use strict'

const { readFileSync } = require('node:fs')
const { join } = require('node:path')

const PLACE = /\{(\w+)\}/g

/** Fills a template in: its first line is the subject. Undefined if a value is missing. */
function letter (kind, values) {
  const template = readFileSync(join(__dirname, '..', 'templates', kind + '.txt'), 'utf8')

  if (Array.from(template.matchAll(PLACE)).some(([, name]) => values[name] === undefined))
    return undefined

  const [subject, ...body] = template.replace(PLACE, (_, name) => values[name]).split('\n')

  return { subject, body: body.join('\n').trim() }
}

exports.letter = letter
