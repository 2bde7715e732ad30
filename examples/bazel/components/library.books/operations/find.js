'use strict'

const catalogue = require('../catalogue.json')

function computation (input) {
  return catalogue.filter(({ title }) => title.includes(input.title))
}

exports.computation = computation
