'use strict'

const { execFileSync } = require('node:child_process')
const { join } = require('node:path')

const PRINT = join(__dirname, '../print')

async function effect (input) {
  execFileSync(join(PRINT, 'spool.sh'), [join(PRINT, 'default.txt'), input.title])
}

exports.effect = effect
