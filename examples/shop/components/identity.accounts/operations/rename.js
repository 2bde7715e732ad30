'use strict'

async function assignment (input, changeset) {
  changeset.name = input.name.trim()
}

exports.assignment = assignment
