'use strict'

const { it } = require('node:test')
const assert = require('node:assert')

const { computation } = require('./write.js')

it('fills a letter in', async () => {
  const letter = await computation({ kind: 'welcome', values: { name: 'Ann', code: '000042' } })

  assert.strictEqual(letter.subject, 'Welcome, Ann')
  assert.match(letter.body, /enter this code: 000042/)
})

it('sends no letter with holes', async () => {
  assert.strictEqual((await computation({ kind: 'sent', values: { order: 'o1' } })).message, 'MISSING_VALUE')
})
